"""Records of a step that was taken before, and results kept across threads."""

from __future__ import annotations

from uuid import UUID

from checkpoints.queries.reuse import PURE
from checkpoints.views import ActivityRow

from . import reads as reading
from .tables import MemoryTables


def reusable(
    tables: MemoryTables, thread: UUID, *, step: int, agent_version: UUID
) -> list[ActivityRow]:
    """Pure results recorded at this step by the same code, the nearest former course first."""
    row = tables.row(thread)
    (first,) = (k for k in tables.checkpoints[thread].values() if k.new.number == row.branch_start)
    if first.new.agent_version != row.agent_version:
        return []
    results, owner, top, until = [], row, row.branch - 1, None
    while True:
        if owner.agent_version == agent_version:
            own = [
                a
                for a in reading.activities(tables, owner.id)
                if a.step == step
                and a.branch <= top
                and (a.kind in PURE and a.state == "done" and a.finished_at is not None)
                and (until is None or a.finished_at <= until)
            ]
            results += sorted(own, key=lambda a: (a.branch, a.revision), reverse=True)
        if owner.base is None:
            return results
        until = owner.created_at if until is None else min(until, owner.created_at)
        owner = tables.row(owner.base)
        top = owner.branch
