"""What was done outside on a course that the thread has left: it asks before it happens again.

After a rollback the steps are worked again on a new branch, in a fork on a new thread. An effect
at the same node, index and key that stayed done there is the one that would happen twice. In a
loop the first visit of a node answers to the first one that was left behind, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from approvals.rules.headlines import REPEAT
from approvals.rules.proposals import titled
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.views import ActivityRow

from ..authoring.graph import Gate, Tool

if TYPE_CHECKING:
    from ..step.step import OpenStep

STAYED = ("done", "started", "unknown")
LOOKED_AT = 500
EVERY_STEP = 2**31 - 1


def done_before(step: OpenStep, position: Position, value: Any) -> ActivityRow | None:
    """The effect that this one would repeat; None where nothing of it stayed done."""
    work = step.work
    if not work.branch and work.base is None:
        return None
    path, newest = step.branches_to_head
    upto = {(thread, branch): step for thread, branch, step in path}
    ranges = [
        (thread, branch, upto.get((thread, branch), -1), EVERY_STEP)
        for thread in dict.fromkeys(thread for thread, _, _ in path)
        for branch in range(newest[thread], -1, -1)
        if (thread, branch) != (work.thread, work.branch)
    ]
    rows = step.ledger.at_place(work, ranges, position, limit=LOOKED_AT)
    results = []
    for (thread, branch), group in groupby(rows, lambda a: (a.thread, a.branch)):
        left = _visits(list(group))
        since = _since(path, thread, branch, work.thread, work.branch)
        met = _visits(step.ledger.at_place(work, since, position, limit=len(left)))
        results += [a for a in _counterparts(left, met, value) if stayed(a)]
    same = [a for a in results if _same(a, value)]
    return next(iter(same or results), None)


def _since(
    path: Sequence[tuple[UUID, int, int]], thread: UUID, branch: int, own: UUID, now: int
) -> list[tuple[UUID, int, int, int]]:
    """The parts of the way that the thread went after it had left this branch."""
    results = []
    for owner, at, step in path:
        if owner == thread and at <= branch:
            break
        results.append((owner, at, -1, EVERY_STEP if (owner, at) == (own, now) else step))
    return results[::-1]


def _visits(rows: Sequence[ActivityRow]) -> list[ActivityRow]:
    """One row per visit of the place: its newest revision."""
    return list({(a.thread, a.branch, a.step): a for a in rows}.values())


def _counterparts(
    left: Sequence[ActivityRow], met: Sequence[ActivityRow], value: Any
) -> list[ActivityRow]:
    """Of the visits left behind those that this one answers to: by arguments, by order."""
    same = [a for a in left if _same(a, value)][sum(_same(a, value) for a in met) :]
    return [*same[:1], *left[len(met) : len(met) + 1]]


def _same(row: ActivityRow, value: Any) -> bool:
    args = row.args
    if row.kind == "value" and isinstance(args, dict):  # of a tool that acts once
        args = args.get("args")
    return deltas.canonical(args) == deltas.canonical(value)


def stayed(row: ActivityRow) -> bool:
    """Answer True if something changed the outside world, or may have, and was not undone."""
    return row.kind in ("effect", "value") and row.state in STAYED


def asking(gate: Gate | None, tool: Tool, before: Mapping[str, Any], sentence: str = "") -> Gate:
    """The gate before an effect that was done already; it keeps the words of the author's own.

    Without one the tool's own sentence says what would be done.
    """
    words = gate.title if gate else sentence
    title = titled(f"{REPEAT}{words}") if words else f"Repeat {tool.name}?"
    payload = _explained(tool, before)
    text = f"{payload}\n\n{gate.description}" if gate and gate.description else payload
    return replace(gate or Gate(title), title=title, description=text, risk="high")


def _explained(tool: Tool, before: Mapping[str, Any]) -> str:
    where = "Before the rollback"
    if before["fork"]:
        where = "In the thread it was forked from"
    elif before.get("here"):  # requests of former versions say nothing of it
        where = "At this step"
    when = datetime.fromisoformat(before["at"]).astimezone(UTC)
    what = f"{where}, {tool.name}"
    if before["state"] != "done":
        return f"{what} started at {when:%Y-%m-%d %H:%M:%S} UTC, and its outcome is unknown."
    by = f", approved by {before['approved_by']}" if before["approved_by"] else ""
    return f"{what} ran at {when:%Y-%m-%d %H:%M:%S} UTC{by}. It was not undone."
