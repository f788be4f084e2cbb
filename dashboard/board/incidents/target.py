"""The incident as the target of actions."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from approvals.incidents.queries import IncidentRow
from checkpoints.signals import board_changed
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Target


def _incident_named(_: Actor, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such incident; `incident list` shows them.") from None


def changed(actor: Actor, row: IncidentRow) -> IncidentRow:
    """The incident as it is after a change, which open pages show once it is committed."""
    send = partial(board_changed.send_robust, sender=None, workspace=actor.workspace)
    transaction.on_commit(send, robust=True)
    return row


INCIDENT = Target(name="incident", find=_incident_named, metavar="ID", page="incident")
