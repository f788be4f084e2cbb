"""Reading requests and decisions whole, for capsules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from checkpoints import queries

from .columns import APPROVAL, DECISION

_ON_THREAD = "approval_id IN (SELECT a.id FROM gp_approval a WHERE a.thread_id = %s::uuid)"


def approval_rows(thread: UUID) -> Iterator[dict[str, Any]]:
    """All requests of a thread by their id."""
    return queries.exported_rows(APPROVAL.exported, thread)


def decision_rows(thread: UUID) -> Iterator[dict[str, Any]]:
    """All decisions on a thread's requests by their id."""
    return queries.exported_rows(DECISION.exported, thread, where=_ON_THREAD)
