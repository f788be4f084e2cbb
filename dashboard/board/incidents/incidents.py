"""Incidents as they are read: one with its newest threads, all of a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.incidents import queries
from approvals.incidents.queries import (
    IncidentRow,
    IncidentSelection,
    IncidentThreadRow,
)
from approvals.notify.texts.incident_kinds import NEWEST_SHOWN
from checkpoints.errors import InvalidValue
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.fields.filters import CALL, given_at, read
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, ident, rows
from dashboard.kit.filters import call_parameters

FILTERS = given_at(INCIDENTS, CALL)
LIMIT = rows(LIMIT_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDetail(IncidentRow):
    """An incident and its newest threads."""

    newest: Annotated[list[IncidentThreadRow], Field(description=f"At most {NEWEST_SHOWN}.")]


class IncidentList(Shape):
    """Incidents, the newest first; `next_cursor` is null on the last page."""

    results: list[IncidentRow]
    next_cursor: UUID | None


@translated()
def list_incidents(
    actor: Actor,
    selection: IncidentSelection,
    *,
    after: UUID | None = None,
    limit: int = 50,
) -> IncidentList:
    """Incidents of the workspace, the newest first; `next_cursor` where more follow."""
    require(actor, "read")
    try:
        rows = queries.incidents(selection, workspace=actor.workspace, after=after, limit=limit + 1)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error
    last = rows[limit - 1].id if len(rows) > limit else None
    return IncidentList(results=rows[:limit], next_cursor=last)


@translated()
def one_incident(actor: Actor, incident_id: UUID) -> IncidentDetail:
    """An incident and its newest threads."""
    require(actor, "read")
    row = queries.incident(incident_id, workspace=actor.workspace)
    return with_more(IncidentDetail, row, newest=queries.newest_threads(incident_id))


class Incidents(MemberView):
    """All of the workspace."""

    @extend_schema(
        operation_id="incidents_list",
        responses={200: IncidentList, **refusals(422)},
        parameters=[
            *call_parameters(INCIDENTS),
            ident("cursor", "`next_cursor` of the page before."),
            LIMIT,
        ],
        summary="List incidents",
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        values = read(FILTERS, {one.name: self.text(one.name) for one in FILTERS})
        cursor = self.text("cursor")
        shown = list_incidents(
            self.actor,
            IncidentSelection(**values),
            after=UUID(cursor) if cursor else None,
            limit=self.limit(LIMIT),
        )
        return answer(shown)


class OneIncident(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="incidents_retrieve",
        responses={200: IncidentDetail, **refusals(404)},
        summary="An incident and its newest threads",
    )
    def get(self, request: Request, incident_id: UUID) -> Response:
        """As it is now."""
        return answer(one_incident(self.actor, incident_id))
