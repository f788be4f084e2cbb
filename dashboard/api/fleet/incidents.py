"""Incidents: similar problems grouped; taken, given back, snoozed and closed by people."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.incidents.queries import STATES, IncidentRow, SubjectRow
from approvals.notify.texts.incident_kinds import NEWEST_SHOWN, TROUBLES
from dashboard import actions
from dashboard.actions.fleet import incidents
from dashboard.api.protocol.base import MemberView, answer, refusals
from dashboard.api.protocol.parameters import LIMIT_MAX, choice, ident, rows, words
from dashboard.api.shapes.requests import Nothing, RequestShape
from dashboard.api.shapes.texts import NotBlank, Time
from dashboard.documents.state_shape import Shape
from dashboard.fields.validation import REASON_MAX

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


class SnoozeIncident(RequestShape):
    """Until when nobody gets news of it."""

    until: Time


class CloseIncident(RequestShape):
    """The reason to close it though threads are still in trouble."""

    reason: Annotated[str, NotBlank(REASON_MAX)]


class Incidents(MemberView):
    """All of the workspace."""

    @extend_schema(
        operation_id="incidents_list",
        responses={200: IncidentList, **refusals(422)},
        parameters=[
            choice("state", STATES, "All unless given; `open` are also taken and snoozed ones."),
            choice("kind", TROUBLES, "What is wrong."),
            words("agent", "The name of an agent."),
            ident("cursor", "`next_cursor` of the page before."),
            LIMIT,
        ],
        summary="List incidents",
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        cursor = self.text("cursor")
        results, last = incidents.list_incidents(
            self.actor,
            state=self.text("state"),
            kind=self.text("kind"),
            agent=self.text("agent"),
            after=UUID(cursor) if cursor else None,
            limit=self.limit(LIMIT),
        )
        return answer(IncidentList(results=[Incident.of(row) for row in results], next_cursor=last))


class OneIncident(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="incidents_retrieve",
        responses={200: IncidentDetail, **refusals(404)},
        summary="An incident and its newest threads",
    )
    def get(self, request: Request, incident_id: UUID) -> Response:
        """As it is now."""
        row, newest = incidents.one_incident(self.actor, incident_id)
        shown = [IncidentThread.of(one) for one in newest]
        return answer(IncidentDetail(**Incident.of(row).model_dump(), newest=shown))


class TakeIncident(MemberView):
    """The caller takes care of it."""

    changes = "incident"

    @extend_schema(
        operation_id="incidents_take",
        request=Nothing,
        responses={200: Incident, **refusals(404, 409, 422)},
        summary="Assign an incident to yourself",
    )
    def post(self, request: Request, incident_id: UUID) -> Response:
        """409 where somebody else has taken it."""
        self.body(Nothing)
        return answer(Incident.of(actions.take_incident(self.actor, incident_id)))


class GiveBackIncident(MemberView):
    """The caller stops taking care of it."""

    changes = "incident"

    @extend_schema(
        operation_id="incidents_give_back",
        request=Nothing,
        responses={200: Incident, **refusals(404, 409, 422)},
        summary="Unassign an incident from yourself",
    )
    def post(self, request: Request, incident_id: UUID) -> Response:
        """409 where the caller has not taken it."""
        self.body(Nothing)
        return answer(Incident.of(actions.give_back_incident(self.actor, incident_id)))


class SnoozeOneIncident(MemberView):
    """Silent for a while."""

    changes = "incident"

    @extend_schema(
        operation_id="incidents_snooze",
        request=SnoozeIncident,
        responses={200: Incident, **refusals(404, 409, 422)},
        summary="Snooze the notifications of an incident",
        description="If it is still open then, subscribers are reminded of it.",
    )
    def post(self, request: Request, incident_id: UUID) -> Response:
        """At most 30 days from now."""
        until = self.body(SnoozeIncident).until
        return answer(Incident.of(actions.snooze_incident(self.actor, incident_id, until)))


class WakeIncident(MemberView):
    """Silent no longer."""

    changes = "incident"

    @extend_schema(
        operation_id="incidents_wake",
        request=Nothing,
        responses={200: Incident, **refusals(404, 409, 422)},
        summary="End the snooze of an incident",
        description="Notifications resume. There is no reminder.",
    )
    def post(self, request: Request, incident_id: UUID) -> Response:
        """409 where it is not snoozed."""
        self.body(Nothing)
        return answer(Incident.of(actions.wake_incident(self.actor, incident_id)))


class CloseOneIncident(MemberView):
    """Closed by a person."""

    changes = "incident"

    @extend_schema(
        operation_id="incidents_close",
        request=CloseIncident,
        responses={200: Incident, **refusals(404, 409, 422)},
        summary="Close an incident with a reason",
        description="Closing doesn't change its threads. The next similar failure opens another "
        "incident. An incident closes automatically when none of its threads is affected.",
    )
    def post(self, request: Request, incident_id: UUID) -> Response:
        """The reason is recorded."""
        reason = self.body(CloseIncident).reason
        return answer(Incident.of(actions.close_incident(self.actor, incident_id, reason)))
