"""Family trees as pages show them: who started a thread, whom it started, what all of it took.

Each statement looks at no more than COUNT_CAP children or threads of a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import Status
from checkpoints.views import Awaited, ThreadRow

from ..search.counts import COUNT_CAP

LISTED, LEVELS, BELOW = 20, 20, 99
# Checkpoints at the end of a thread from which another one may have gone on in its place.
ENDS = 20
# Who needs a person stands first, then who is at work.
FIRST = (
    Status.ATTENTION,
    Status.FAILED,
    Status.WAITING,
    Status.PAUSED,
    Status.ROLLING_BACK,
    Status.RUNNING,
    Status.SLEEPING,
    Status.QUEUED,
    Status.CANCELLED,
    Status.SUCCEEDED,
)
_COLUMNS = (
    "th.id, th.title, th.agent, th.status, th.status_since, th.parent, th.base, th.root, th.depth, "
    "coalesce(th.waiting_on ->> 'kind', '') AS waits_for, th.n_steps AS steps, th.tokens, "
    "trim_scale(th.cost)::text AS cost"
)
SQL = sql_file(
    __file__,
    columns=_COLUMNS,
    cap=str(COUNT_CAP),
    listed=str(LISTED),
    levels=str(LEVELS),
    below=str(BELOW),
    ends=str(ENDS),
)


@dataclass(frozen=True, slots=True)
class Relative:
    """A thread of a family tree; `n_children` is counted up to BELOW + 1, `waits_for` is a kind."""

    id: UUID
    title: str
    agent: str
    status: Status
    status_since: datetime
    parent: UUID | None
    base: UUID | None
    root: UUID | None
    depth: int
    waits_for: str
    steps: int
    tokens: int
    cost: str
    n_children: int = 0

    @property
    def took_over(self) -> bool:
        """Answer True if another thread handed over to this one."""
        return self.base is not None and self.root is not None


_FIELDS = frozenset(Relative.__slots__)


@dataclass(frozen=True, slots=True)
class FanOut:
    """The children of one agent that a thread has: how many in each status, some of them.

    `held` of the waiting ones begin when others end.
    """

    agent: str
    counts: dict[Status, int]
    steps: int
    tokens: int
    cost: str
    listed: tuple[Relative, ...] = ()
    held: int = 0

    @property
    def n(self) -> int:
        """The number of all of them."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over all threads of a tree; `capped`: there are more than were added up."""

    threads: int
    steps: int
    tokens: int
    cost: str
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A thread among its relatives: ancestors from the top, hand-offs, children by agent."""

    thread: Relative
    totals: Totals
    ancestors: tuple[Relative, ...] = ()
    took_over_from: Relative | None = None
    handed_over_to: tuple[Relative, ...] = ()
    fan_outs: tuple[FanOut, ...] = ()
    capped: bool = False

    @property
    def n_children(self) -> int:
        """The number of its children, up to COUNT_CAP + 1."""
        return sum(fan_out.n for fan_out in self.fan_outs)


def family(thread_id: UUID, *, workspace: UUID) -> Family | None:
    """A thread among its relatives; None for one that has none, or is not in the workspace."""
    own = fetch_named(SQL.self, (thread_id, workspace))
    if not (own and (own[0].root or own[0].has_children or own[0].has_heirs)):
        return None
    thread, key = _relative(own[0]), (thread_id, workspace)
    root = thread.root or thread.id
    ancestors = _relatives(SQL.ancestors, *key) if thread.parent else []
    fan_outs = _fan_outs(*key) if own[0].has_children else ()
    handed_over_to = _relatives(SQL.hand_offs, *key) if own[0].has_heirs else []
    giver = _relatives(SQL.one, thread.base, workspace) if thread.took_over else []
    return Family(
        thread,
        _totals(root),
        tuple(reversed(ancestors)),
        giver[0] if giver else None,
        tuple(reversed(handed_over_to)),
        fan_outs,
        capped=sum(fan_out.n for fan_out in fan_outs) > COUNT_CAP,
    )


def family_mark(thread_id: UUID, *, workspace: UUID) -> tuple[int, tuple[Any, ...]]:
    """(microseconds of the database's clock, a value that differs when the tree has moved).

    The value is () for a thread without relatives.
    """
    clock, n, *moved = fetch_named(SQL.mark, (thread_id, workspace))[0]
    return clock, ((n, *moved) if n > 1 else ())


def awaited(thread: ThreadRow) -> Awaited | None:
    """Count the children that a thread waits for by status; None where it waits for none."""
    waits_for = thread.waiting_on if thread.status is Status.WAITING else None
    if not isinstance(waits_for, dict) or "joins" not in waits_for:
        return None
    joins = fetch_named(SQL.awaited, (thread.id,))
    if not joins:
        return Awaited()
    open_ones = fetch_named(SQL.awaited_statuses, (thread.id,))
    return Awaited(
        sum(join.n for join in joins),
        sum(join.open for join in joins),
        sum(join.succeeded for join in joins),
        {Status(row.status): row.n for row in open_ones},
        sum(row.held for row in open_ones if row.status == Status.WAITING),
    )


def _relatives(sql: str, *params: Any) -> list[Relative]:
    return [_relative(row) for row in fetch_named(sql, params)]


def _relative(row: Any) -> Relative:
    values = {name: value for name, value in row._asdict().items() if name in _FIELDS}
    return Relative(**{**values, "status": Status(values["status"])})


def _fan_outs(thread_id: UUID, workspace: UUID) -> tuple[FanOut, ...]:
    """By agent, who was started first in front."""
    counted: dict[str, list[Any]] = defaultdict(list)
    for row in fetch_named(SQL.fan_outs, (thread_id, workspace)):
        counted[row.agent].append(row)
    if not counted:
        return ()
    listed: dict[str, list[Relative]] = defaultdict(list)
    for child in _relatives(SQL.children, [str(s) for s in FIRST], thread_id, workspace):
        listed[child.agent].append(child)
    return tuple(
        FanOut(
            agent,
            {s: n for s in FIRST for n in [_n(rows, s)] if n},
            int(sum(row.steps for row in rows)),
            int(sum(row.tokens for row in rows)),
            _money(rows),
            tuple(listed[agent]),
            held=sum(int(row.held) for row in rows),
        )
        for agent, rows in sorted(
            counted.items(), key=lambda item: (min(r.first_at for r in item[1]), item[0])
        )
    )


def _n(rows: Sequence[Any], status: Status) -> int:
    return sum(int(row.n) for row in rows if row.status == status)


def _money(rows: Sequence[Any]) -> str:
    return _plain(sum((row.cost for row in rows), Decimal(0)))


def _plain(cost: Decimal) -> str:
    """A sum of money without zeros at its end, never with an exponent."""
    text = f"{cost:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _totals(root: UUID) -> Totals:
    (row,) = fetch_named(SQL.totals, (root, root))
    return Totals(
        row.threads,
        int(row.steps or 0),
        int(row.tokens or 0),
        _plain(row.cost or Decimal(0)),
        capped=row.threads > COUNT_CAP,
    )
