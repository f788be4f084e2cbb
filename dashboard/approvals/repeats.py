"""A request to do an effect again: what was done before, line by line beside what would be done."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from approvals.queries import ApprovalRow
from approvals.rules.overlap import Overlap, only_new, overlaps
from checkpoints import queries
from checkpoints.errors import NotFound
from dashboard.documents.state_shape import Shape
from dashboard.wording.amounts import AMOUNTS, currency_of, sum_of

LINES_SHOWN = 200


class RepeatedLine(Shape):
    """One line of a list: what was done before and what would be done now; empty where absent."""

    name: str
    before: str
    now: str
    again: bool


class RepeatedList(Shape):
    """A list of the arguments, line by line; `twice` and `once` are sums with their currency."""

    name: str
    field: str
    rows: list[RepeatedLine] = Field(description="Those done already first; at most 200.")
    more: int
    again: int
    new: int
    twice: str
    once: str

    @property
    def total(self) -> int:
        """The number of lines that would be done now."""
        return self.again + self.new


class Repeated(Shape):
    """The earlier action that a request of the kind `repeat` would do again."""

    at: datetime
    state: str
    thread: UUID
    title: str
    fork: bool
    approval: str
    approved_by: str
    args: str
    result: str
    lists: list[RepeatedList]
    only_new: dict[str, Any] | None = Field(
        description="The arguments of an edit that leaves out what was done before; null where "
        "all or none of it was."
    )

    @property
    def new(self) -> int:
        """The number of lines that were not done before."""
        return self.lists[0].new if self.lists else 0


def repeat_of(row: ApprovalRow, *, workspace: UUID) -> Repeated | None:
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
    return Repeated(
        at=datetime.fromisoformat(payload["at"]),
        state=payload["state"],
        thread=UUID(payload["thread"]),
        title=payload["title"],
        fork=payload["fork"],
        approval=payload["approval"] or "",
        approved_by=payload["approved_by"],
        args=payload["args"],
        result=payload["result"],
        lists=[_listed(one, row.shown_args) for one in overlaps(args, row.shown_args, row.schema)],
        only_new=only_new(args, row.shown_args, row.schema) if row.open else None,
    )


def _listed(one: Overlap, args: Any) -> RepeatedList:
    amount = next((name for name in AMOUNTS if any(name in (x.now or {}) for x in one.lines)), "")
    # What would happen again comes first: it is what the person has to look at.
    lines = sorted(one.lines, key=lambda line: (not line.again, line.now is None))
    rows = [
        RepeatedLine(
            name=line.name,
            before=_value(line.before, amount),
            now=_value(line.now, amount),
            again=line.again,
        )
        for line in lines[:LINES_SHOWN]
    ]
    return RepeatedList(
        name=one.list,
        field=one.field,
        rows=rows,
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
