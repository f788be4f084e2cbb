"""Threads that are stuck: which, and how many by agent and node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ...state import deltas
from ...views import StuckRow
from ..rows import rows
from ..search.stuck import STUCK, STUCK_COUNTS, StuckCounts, stuck_counts_of, stuck_row

LIST_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class StuckThread:
    """A thread that is stuck, as the list shows it."""

    thread: UUID
    title: str
    status: str
    agent: str
    stuck: StuckRow


def _narrowed(workspace: UUID, agent: str, node: str) -> tuple[str, list[Any]]:
    deltas.check(agent, "agent")
    deltas.check(node, "node")
    where = "true"
    params: list[Any] = [workspace, workspace]
    for column, value in (("agent", agent), ("node", node)):
        if value:
            where += f" AND k.{column} = %s::text"
            params.append(value)
    return where, params


def stuck_counts(*, workspace: UUID, agent: str = "", node: str = "") -> StuckCounts:
    """Count those that are stuck, in all and by agent and node."""
    where, params = _narrowed(workspace, agent, node)
    return stuck_counts_of(rows(STUCK_COUNTS.format(where=where), params))


def stuck_threads(
    *, workspace: UUID, agent: str = "", node: str = "", limit: int = 50
) -> list[StuckThread]:
    """List those that are stuck, the longest stuck first."""
    where, params = _narrowed(workspace, agent, node)
    result = rows(
        "SELECT k.id, k.title, k.status, k.agent, k.rule, k.node, k.since, k.reason "
        f"FROM ({STUCK}) k WHERE {where} ORDER BY k.since, k.id LIMIT %s",
        (*params, min(limit, LIST_MAX)),
    )
    return [
        StuckThread(thread, title, status, its, stuck_row(*why))
        for thread, title, status, its, *why in result
    ]
