"""Take care of an incident, so that others know; or no longer."""

from __future__ import annotations

from uuid import UUID

from approvals.incidents import responses
from approvals.incidents.queries import IncidentRow
from checkpoints.states import WorkspaceEventKind
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Nothing

from .target import INCIDENT, changed


def take(actor: Actor, _: Nothing, incident_id: UUID) -> IncidentRow:
    """Take care of an incident; Conflict where somebody else does."""
    row = responses.take(
        incident_id, workspace=actor.workspace, person=actor.person, actor=actor.id
    )
    return changed(actor, row)


def give_back(actor: Actor, _: Nothing, incident_id: UUID) -> IncidentRow:
    """Stop taking care of an incident; Conflict where the person does not."""
    row = responses.give_back(
        incident_id, workspace=actor.workspace, person=actor.person, actor=actor.id
    )
    return changed(actor, row)


TAKE = Action(
    name="incident.take",
    right="incident",
    target=INCIDENT,
    takes=Nothing,
    answers=IncidentRow,
    perform=take,
    events=(WorkspaceEventKind.INCIDENT_TAKEN,),
    summary="Assign an incident to yourself",
    description="409 where somebody else has taken it.",
    help="assigns an incident to you",
    done=lambda *_: "The incident is assigned to you.",
)
GIVE_BACK = Action(
    name="incident.give_back",
    right="incident",
    target=INCIDENT,
    takes=Nothing,
    answers=IncidentRow,
    perform=give_back,
    events=(WorkspaceEventKind.INCIDENT_RELEASED,),
    summary="Unassign an incident from yourself",
    description="409 where the caller has not taken it.",
    help="unassigns an incident from you",
    done=lambda *_: "The incident is unassigned.",
)
