"""Damaged records as pages show them: on a thread and its requests, and of a whole workspace."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.views import ThreadRow
from dashboard.identity.people import people
from dashboard.records.integrity import outgoing_anchors

SHOWN = 3


def damage_of(thread: ThreadRow) -> dict[str, Any]:
    """The context of components/damage.html: the damage of a thread's record."""
    damage = thread.damage
    return {
        "damage": damage,
        "damage_thread": thread.id,
        "damage_people": people([damage.found_by]) if damage else {},
    }


def board_integrity(workspace: UUID) -> dict[str, Any]:
    """The integrity of all records of a workspace, for its board."""
    integrity = queries.integrity(workspace=workspace)
    damages = queries.damages(workspace=workspace, limit=SHOWN) if integrity.damaged else []
    return {
        "integrity": integrity,
        "damages": damages,
        "late_anchors": outgoing_anchors.late(),
    }
