"""Threads that are stuck: which, and how many by agent and node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ...state import deltas
from ...views import StuckRow
from ..rows import rows
from ..search.stuck import STUCK, stuck_row

COUNTS_MAX: Final = 200
LIST_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class StuckThread:
    """A thread that is stuck, as the list shows it."""

    thread: UUID
    title: str
    status: str
    agent: str
    stuck: StuckRow


@dataclass(frozen=True, slots=True)
class StuckCount:
    """Number of threads of an agent that are stuck at a node."""

    agent: str
    node: str
    threads: int


@dataclass(frozen=True, slots=True)
class StuckCounts:
    """Numbers of stuck threads in all, and by agent and node: most first, COUNTS_MAX at most."""

    total: int
    groups: tuple[StuckCount, ...]


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
    result = rows(
        f"SELECT k.agent, k.node, count(*), (sum(count(*)) OVER ())::bigint FROM ({STUCK}) k "
        f"WHERE {where} "
        "GROUP BY k.agent, k.node ORDER BY count(*) DESC, k.agent, k.node LIMIT %s",
        (*params, COUNTS_MAX),
    )
    total = next((int(every) for *_, every in result), 0)
    return StuckCounts(total, tuple(StuckCount(*group) for *group, _ in result))


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
