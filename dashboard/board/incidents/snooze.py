"""Snooze the notifications of an incident for a while, and end that early."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from approvals.incidents import responses
from approvals.incidents.queries import IncidentRow
from checkpoints import queries
from checkpoints.states import WorkspaceEventKind
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import Time

from .target import INCIDENT, changed


class SnoozeIncident(RequestShape):
    """Until when nobody gets news of it."""

    until: Time


def time_after(span: timedelta) -> str:
    """The time after this span, from now by the database's clock, as `until` takes it."""
    return (datetime.fromtimestamp(queries.clock(), UTC) + span).isoformat()


def snooze(actor: Actor, wanted: SnoozeIncident, incident_id: UUID) -> IncidentRow:
    """Let nobody get news of it before the time."""
    row = responses.snooze(
        incident_id,
        wanted.until,
        workspace=actor.workspace,
        person=actor.person,
        actor=actor.id,
    )
    return changed(actor, row)


def wake(actor: Actor, _: Nothing, incident_id: UUID) -> IncidentRow:
    """Let news of a snoozed incident come again immediately; Conflict where it is not snoozed."""
    row = responses.wake(incident_id, workspace=actor.workspace, actor=actor.id)
    return changed(actor, row)


SNOOZE = Action(
    name="incident.snooze",
    right="incident",
    target=INCIDENT,
    takes=SnoozeIncident,
    answers=IncidentRow,
    perform=snooze,
    events=(WorkspaceEventKind.INCIDENT_SNOOZED,),
    summary="Snooze the notifications of an incident",
    description="If it is still open then, subscribers are reminded of it.",
    help="snoozes the notifications of an incident",
    done=lambda *_: "Nobody is notified of this incident until then.",
    examples="incident snooze ID --for 4h",
)
WAKE = Action(
    name="incident.wake",
    right="incident",
    target=INCIDENT,
    takes=Nothing,
    answers=IncidentRow,
    perform=wake,
    events=(WorkspaceEventKind.INCIDENT_WOKEN,),
    summary="End the snooze of an incident",
    description="Notifications resume. There is no reminder.",
    help="ends the snooze of an incident",
    done=lambda *_: "The snooze is over: people are notified of this incident again.",
)
