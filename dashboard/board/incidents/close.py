"""Close an incident with a reason, also while its threads are affected."""

from __future__ import annotations

from uuid import UUID

from approvals.incidents import responses
from approvals.incidents.queries import IncidentRow
from checkpoints.states import WorkspaceEventKind
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.inputs import RequiredReason
from dashboard.kit.shapes.requests import RequestShape

from .target import INCIDENT, changed


class CloseIncident(RequestShape):
    """The reason to close it though threads are still in trouble."""

    reason: RequiredReason


def close(actor: Actor, wanted: CloseIncident, incident_id: UUID) -> IncidentRow:
    """Close an incident; the next one that fails alike opens another."""
    row = responses.close(
        incident_id,
        workspace=actor.workspace,
        person=actor.person,
        reason=wanted.reason.strip(),
        actor=actor.id,
    )
    return changed(actor, row)


CLOSE = Action(
    name="incident.close",
    right="incident",
    target=INCIDENT,
    takes=CloseIncident,
    answers=IncidentRow,
    perform=close,
    events=(WorkspaceEventKind.INCIDENT_CLOSED,),
    summary="Close an incident with a reason",
    description="Closing doesn't change its threads. The next similar failure opens another "
    "incident. An incident closes automatically when none of its threads is affected.",
    help="closes an incident also while threads are affected",
    done=lambda *_: "Closed.",
    examples='incident close ID --reason "known, fixed on Monday"',
)
