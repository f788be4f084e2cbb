"""Incidents: look at them, take one, give it back, snooze it, wake it, close it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from approvals.incidents import queries, responses
from approvals.incidents.queries import IncidentRow, SubjectRow
from checkpoints.errors import InvalidValue
from checkpoints.signals import board_changed
from dashboard.errors import Invalid, translated
from dashboard.fields.validation import REASON_MAX, check_text
from dashboard.identity.permissions import Actor, require


@translated()
def list_incidents(
    actor: Actor,
    *,
    state: str = "",
    kind: str = "",
    agent: str = "",
    after: UUID | None = None,
    limit: int = 50,
) -> tuple[list[IncidentRow], UUID | None]:
    """Incidents of the workspace, the newest first, and the last one where more follow."""
    require(actor, "read")
    narrow: dict[str, Any] = {"state": state, "kind": kind, "agent": agent, "after": after}
    try:
        rows = queries.incidents(workspace=actor.workspace, limit=limit + 1, **narrow)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error
    return rows[:limit], rows[limit - 1].id if len(rows) > limit else None


@translated()
def one_incident(actor: Actor, incident_id: UUID) -> tuple[IncidentRow, list[SubjectRow]]:
    """An incident and its newest threads."""
    require(actor, "read")
    row = queries.incident(incident_id, workspace=actor.workspace)
    return row, queries.newest_threads(incident_id)


@translated()
def take_incident(actor: Actor, incident_id: UUID) -> IncidentRow:
    """Take care of an incident, so that others know; Conflict where somebody else does."""
    return _handle(actor, responses.take, incident_id)


@translated()
def give_back_incident(actor: Actor, incident_id: UUID) -> IncidentRow:
    """Stop taking care of an incident."""
    return _handle(actor, responses.give_back, incident_id)


@translated()
def snooze_incident(actor: Actor, incident_id: UUID, until: datetime | timedelta) -> IncidentRow:
    """Let nobody get news of it before `until`, or for so long."""
    return _handle(actor, responses.snooze, incident_id, until)


@translated()
def wake_incident(actor: Actor, incident_id: UUID) -> IncidentRow:
    """Let news of a snoozed incident come again at once; Conflict where it is not snoozed."""
    require(actor, "incident")
    row = responses.wake(incident_id, workspace=actor.workspace, actor=actor.id)
    _announce(actor)
    return row


@translated()
def close_incident(actor: Actor, incident_id: UUID, reason: str) -> IncidentRow:
    """Close an incident also while its threads are affected; the reason is recorded."""
    require(actor, "incident")
    check_text("$.reason", reason, REASON_MAX, required=True)
    return _handle(actor, responses.close, incident_id, reason=reason.strip())


def _handle(actor: Actor, verb: Callable[..., IncidentRow], *args: Any, **more: Any) -> IncidentRow:
    require(actor, "incident")
    scope = {"workspace": actor.workspace, "person": actor.person, "actor": actor.id}
    row = verb(*args, **scope, **more)
    _announce(actor)
    return row


def _announce(actor: Actor) -> None:
    changed = partial(board_changed.send_robust, sender=None, workspace=actor.workspace)
    transaction.on_commit(changed, robust=True)
