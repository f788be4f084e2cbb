"""A request to do an effect again: what was done before, line by line beside what would be done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.queries import ApprovalRow
from approvals.rules.overlap import Overlap, only_new, overlaps
from checkpoints import queries
from checkpoints.errors import NotFound
from dashboard.wording.amounts import AMOUNTS, currency_of, sum_of

LINES_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its name, what was done before and what would be done now; empty where absent."""

    name: str
    before: str
    now: str
    again: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of the arguments: its lines, and the sums that go out a second and a first time."""

    name: str
    field: str
    rows: tuple[Row, ...]
    more: int
    again: int
    new: int
    twice: str
    once: str

    @property
    def total(self) -> int:
        """The number of lines that would be done now."""
        return self.again + self.new


@dataclass(frozen=True, slots=True)
class Repeat:
    """The earlier action; `only_new` are the arguments without it, None if that is impossible."""

    at: datetime
    state: str
    thread: UUID
    title: str
    fork: bool
    approval: str
    approved_by: str
    args: str
    result: str
    lists: tuple[Listed, ...]
    only_new: dict[str, Any] | None

    @property
    def new(self) -> int:
        """The number of lines that were not done before."""
        return self.lists[0].new if self.lists else 0


def repeat_of(row: ApprovalRow, *, workspace: UUID) -> Repeat | None:
    """Read the action that a repeat repeats, with its recorded arguments; None if no repeat."""
    payload = row.repeats
    if not row.repeat or not isinstance(payload, dict):
        return None
    try:
        before = queries.activity(UUID(payload["activity"]))
        queries.thread(before.thread, workspace=workspace)  # a capsule may name any
        args = before.args
    except NotFound:
        args = None  # it came with a capsule, without the thread that did it
    if isinstance(args, dict) and set(args) == {"args", "activity", "thread"}:
        args = args["args"]  # of a tool that acts once
    return Repeat(
        at=datetime.fromisoformat(payload["at"]),
        state=payload["state"],
        thread=UUID(payload["thread"]),
        title=payload["title"],
        fork=payload["fork"],
        approval=payload["approval"] or "",
        approved_by=payload["approved_by"],
        args=payload["args"],
        result=payload["result"],
        lists=tuple(
            _listed(one, row.shown_args) for one in overlaps(args, row.shown_args, row.schema)
        ),
        only_new=only_new(args, row.shown_args, row.schema) if row.open else None,
    )


def _listed(one: Overlap, args: Any) -> Listed:
    amount = next((name for name in AMOUNTS if any(name in (x.now or {}) for x in one.lines)), "")
    # What would happen again comes first: it is what the person has to look at.
    lines = sorted(one.lines, key=lambda line: (not line.again, line.now is None))
    rows = [
        Row(line.name, _value(line.before, amount), _value(line.now, amount), line.again)
        for line in lines[:LINES_SHOWN]
    ]
    return Listed(
        name=one.list,
        field=one.field,
        rows=tuple(rows),
        more=len(lines) - len(rows),
        again=one.again,
        new=one.new,
        twice=_sum([x.now for x in lines if x.again], amount, args),
        once=_sum([x.now for x in lines if x.before is None], amount, args),
    )


def _value(line: Any, amount: str) -> str:
    if line is None:
        return ""
    return str(line.get(amount, "")) if amount else "yes"


def _sum(lines: list[Any], amount: str, args: Any) -> str:
    """The sums of an amount over lines, per currency; empty where it cannot be said."""
    result = sum_of(
        {"amount": line.get(amount), "currency": currency_of(line) or currency_of(args)}
        for line in lines
    )
    return result.total if result else ""
