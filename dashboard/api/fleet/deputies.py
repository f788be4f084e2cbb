"""Deputies: who acts for whom, for a time or in one request."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.deputies.changes import REASON_MAX
from approvals.notify.texts.kinds import PERSON_MAX
from approvals.queries.deputies import DeputyRow
from dashboard import actions
from dashboard.actions.people import deputies
from dashboard.api.shapes.requests import Nothing, RequestShape
from dashboard.api.shapes.texts import NotBlank, Time
from dashboard.documents.state_shape import Shape
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import flag

Reason = Annotated[str, Field(max_length=REASON_MAX)]


class Deputy(Shape):
    """The right of `deputy` to act for `person`: until `ends`, or in one `request`."""

    id: UUID
    person: str
    person_name: str
    deputy: str
    deputy_name: str
    request: UUID | None
    begins: datetime
    ends: datetime | None
    began: bool = Field(description="Whether it holds now.")
    reason: str
    made_by: str

    @classmethod
    def of(cls, row: DeputyRow) -> Self:
        """The row for the wire."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class DeputyList(Shape):
    """Deputies of now and later, the first to begin first."""

    results: list[Deputy]


class NameDeputy(RequestShape):
    """A deputy of the caller for a time, or of whom an admin names."""

    deputy: Annotated[str, NotBlank(PERSON_MAX)] = Field(description="The user name of a reviewer.")
    begins: Time | None = Field(None, description="Now unless given.")
    ends: Time = Field(description="At most 366 days later.")
    reason: Reason = Field("", description="For people to read; it is on record.")
    person: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        None, description="The user name of who is away; admins only."
    )


class Deputies(MemberView):
    """Those that concern the caller, or a new one."""

    changes = "delegate"

    @extend_schema(
        operation_id="deputies_list",
        responses={200: DeputyList, **refusals(422)},
        parameters=[flag("everybody", "Those of everybody; for auditors and admins.")],
        summary="List your deputies, and whose deputy you are",
    )
    def get(self, request: Request) -> Response:
        """The first to begin first."""
        rows = deputies.list_deputies(self.actor, everybody=self.flag("everybody"))
        return answer(DeputyList(results=[Deputy.of(row) for row in rows]))

    @extend_schema(
        operation_id="deputies_name",
        request=NameDeputy,
        responses={201: Deputy, **refusals(422)},
        summary="Name a deputy for while you are away",
        description="The deputy decides what you could decide, in their own name and yours. Four "
        "eyes and stages look at the person who acts.",
    )
    def post(self, request: Request) -> Response:
        """201 with the deputy."""
        body = self.body(NameDeputy)
        row = actions.name_deputy(
            self.actor, body.deputy, body.begins, body.ends, body.reason, body.person or ""
        )
        return answer(Deputy.of(row), status=201)


class RemoveOneDeputy(MemberView):
    """The end of a deputy's right."""

    changes = "delegate"

    @extend_schema(
        operation_id="deputies_remove",
        request=Nothing,
        responses={200: Deputy, **refusals(404, 422)},
        summary="End a deputy's right, or withdraw a request that was handed over",
    )
    def post(self, request: Request, deputy_id: UUID) -> Response:
        """The deputy as it was."""
        self.body(Nothing)
        return answer(Deputy.of(actions.remove_deputy(self.actor, deputy_id)))
