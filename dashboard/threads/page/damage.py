"""The damage of a record as pages show it: on a thread and its requests."""

from __future__ import annotations

from typing import Any

from checkpoints.views import ThreadRow
from dashboard.identity.people import people


def damage_of(thread: ThreadRow) -> dict[str, Any]:
    """The context of components/damage.html: the damage of a thread's record."""
    damage = thread.damage
    return {
        "damage": damage,
        "damage_thread": thread.id,
        "damage_people": people([damage.found_by]) if damage else {},
    }
