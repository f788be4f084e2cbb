"""Incidents as they are read: one with its newest threads, all of a workspace."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.incidents import queries
from approvals.incidents.queries import IncidentRow, IncidentSelection, SubjectRow
from approvals.notify.texts.incident_kinds import NEWEST_SHOWN
from checkpoints.errors import InvalidValue
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.fields.filters import CALL, given_at, read
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, ident, rows
from dashboard.kit.filters import call_parameters

FILTERS = given_at(INCIDENTS, CALL)
LIMIT = rows(LIMIT_MAX)


class Incident(Shape):
    """An incident; `threads` ever were part of it, `in_trouble` still are.

    `state` is open, taken, snoozed or closed. One that closed by itself has no `closed_by`.
    """

    id: UUID
    state: str
    kind: str
    agent: str
    reason: str
    threads: int
    in_trouble: int
    opened_at: datetime
    last_at: datetime
    taken_by: str
    taken_at: datetime | None
    snoozed_until: datetime | None
    closed_at: datetime | None
    closed_by: str
    close_reason: str

    @classmethod
    def of(cls, row: IncidentRow) -> Self:
        """The row for the wire."""
        named = cls.model_fields.keys() - {"in_trouble"}
        return cls(in_trouble=row.affected, **{name: getattr(row, name) for name in named})


class IncidentThread(Shape):
    """A thread of an incident; of a breaker or a workspace's log `status` and `title` are null."""

    id: UUID
    title: str | None
    status: str | None
    reason: str
    since: datetime
    in_trouble: bool

    @classmethod
    def of(cls, row: SubjectRow) -> Self:
        """The row for the wire."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class IncidentDetail(Incident):
    """An incident and its newest threads."""

    newest: list[IncidentThread] = Field(description=f"At most {NEWEST_SHOWN}.")


class IncidentList(Shape):
    """Incidents, the newest first; `next_cursor` is null on the last page."""

    results: list[Incident]
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
    return IncidentList(results=[Incident.of(row) for row in rows[:limit]], next_cursor=last)


@translated()
def one_incident(actor: Actor, incident_id: UUID) -> IncidentDetail:
    """An incident and its newest threads."""
    require(actor, "read")
    row = queries.incident(incident_id, workspace=actor.workspace)
    newest = [IncidentThread.of(one) for one in queries.newest_threads(incident_id)]
    return IncidentDetail(**Incident.of(row).model_dump(), newest=newest)


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
