"""Threads that are stuck, as SQL: the one of a row, all of a workspace, and what marks a change.

A thread in `attention` is stuck by that. What follows from times and calls the sweep has written to
`gp_stuck`; such a row counts only while the thread has not moved since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field

from ...postgres.sql_files import sql_file
from ...state import deltas
from ...views import StuckRow

COUNTS_MAX: Final = 200
ACTIONS: Final[Mapping[str, str]] = {
    "attention": "Retry, edit or roll back, as its reason says.",
    "queue": "Start a worker; `doctor` says what is missing.",
    "lease": "Check its worker with `doctor`.",
    "silent": "Pause it, then edit or retry; or cancel it.",
    "repeats": "Pause it, then edit its state or roll back.",
    "person": "Remind the people who decide, or decide it.",
}

_CURRENT: Final = (
    "n.status_since = th.status_since AND (n.last_seq IS NULL OR n.last_seq = th.last_seq) "
    "AND th.status <> 'attention'"
)
STUCK_OF: Final = (
    f"(SELECT to_jsonb(n)::text FROM gp_stuck n WHERE n.thread_id = th.id AND {_CURRENT})"
)
STUCK: Final = sql_file(__file__, current=_CURRENT).stuck
STUCK_IDS: Final = f"SELECT k.id FROM ({STUCK}) k WHERE true"
STUCK_COUNTS: Final = (
    "SELECT k.agent, k.node, count(*) AS n, (sum(count(*)) OVER ())::bigint AS total "
    f"FROM ({STUCK}) k WHERE {{where}} GROUP BY k.agent, k.node "
    f"ORDER BY n DESC, k.agent, k.node LIMIT {COUNTS_MAX}"
)
# The same of the whole workspace as one value, which differs when the numbers do.
STUCK_MARK: Final = (
    "SELECT jsonb_agg(jsonb_build_array(g.agent, g.node, g.n, g.total) "
    f"ORDER BY g.n DESC, g.agent, g.node)::text FROM ({STUCK_COUNTS.format(where='true')}) g"
)


@dataclass(frozen=True, slots=True)
class StuckCount:
    """Number of threads of an agent that are stuck at a node."""

    agent: str
    node: Annotated[str, Field(description="empty where no node comes next")]
    threads: int


@dataclass(frozen=True, slots=True)
class StuckCounts:
    """Numbers of stuck threads in all, and by agent and node: most first, COUNTS_MAX at most."""

    total: int
    groups: tuple[StuckCount, ...]


def stuck_counts_of(result: Iterable[Sequence[Any]]) -> StuckCounts:
    """Rows of STUCK_COUNTS as numbers."""
    listed = list(result)
    total = next((int(every) for *_, every in listed), 0)
    return StuckCounts(total, tuple(StuckCount(*group) for *group, _ in listed))


def stuck_of(text: str | None) -> StuckRow | None:
    """A note that was selected as JSON; None where there is none."""
    if text is None:
        return None
    row: dict[str, Any] = deltas.decode(text)
    return stuck_row(row["rule"], row["node"], datetime.fromisoformat(row["since"]), row["reason"])


def stuck_row(rule: str, node: str, since: datetime, reason: str) -> StuckRow:
    """A reason with what helps against it."""
    return StuckRow(rule, node, since, reason, ACTIONS.get(rule, ""))
