"""Settle an effect as a person, in one line."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from checkpoints.states import Status
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.threads.settle import SETTLE, Settle


def settle(
    actor: Actor, thread: UUID, activity: UUID, verdict: str, result: Any = None, reason: str = ""
) -> Status:
    """As the declared action; raises ActionErrors."""
    fields = {"activity": activity, "verdict": verdict, "result": result, "reason": reason}
    return SETTLE.run(actor, read(Settle, fields), thread)
