"""Predict which recorded calls a fork, edit or rollback will reuse and which it will repeat.

The agent is not executed for this, and no record says which values a node read. A call is `reused`
or called `again` only while nothing before it can come out otherwise: no other value, no other
configuration or code, no repeated effect, drawn value, decision or child. After the first such
difference the fate of every call is unknown until run (`maybe`): it may have other input, or the
thread may not get there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from approvals import queries as gates
from checkpoints import queries
from checkpoints.views import ActivityRow, CheckpointRow, ThreadRow

RECORDS_READ = 2_000
ANY_STEP = 2**31 - 1
CALLS = ("activity", "model", "effect")
# Values that come out the same: the end of a pause and of a limit are not passed to the node.
SETTLED_VALUES = ("sleep", "within")
# Activities that are carried out anew wherever the thread goes once more.
REPEATED = {
    "spawn": "children start anew",
    "join": "children start anew",
    "cancel": "children start anew",
    "send": "messages are sent anew",
}
REUSED, AGAIN, MAYBE = "reused", "again", "maybe"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected fate of one recorded call; tokens and cost are those it took."""

    activity: ActivityRow
    fate: str
    why: str
    tokens: int
    cost: Decimal

    @property
    def unpriced(self) -> bool:
        """Answer True if nobody knows what it cost."""
        usage = self.activity.usage
        return isinstance(usage, Mapping) and bool(usage.get("unpriced"))


@dataclass(frozen=True, slots=True)
class Expected:
    """The recorded calls ahead, oldest first."""

    calls: tuple[Expectation, ...] = ()

    def count(self, fate: str) -> int:
        """Count the calls with this fate."""
        return sum(call.fate == fate for call in self.calls)

    def tokens(self, fate: str) -> int:
        """The tokens that calls of this fate took."""
        return sum(call.tokens for call in self.calls if call.fate == fate)

    def cost(self, fate: str) -> str:
        """Sum the cost of the calls with this fate, in dollars."""
        result = sum((call.cost for call in self.calls if call.fate == fate), Decimal(0))
        return f"{result.normalize():f}" if result else "0"

    def unpriced(self, fate: str) -> int:
        """Count the calls with this fate whose cost is not known; `cost` leaves them out."""
        return sum(call.unpriced for call in self.calls if call.fate == fate)


class CallsAhead:
    """The recorded activities from a checkpoint on, oldest first, branch after branch."""

    def __init__(self, target: CheckpointRow) -> None:
        self.target = target
        self.branches: list[int] = []
        self.rows: list[ActivityRow] = []
        read = queries.activities(target.thread, limit=RECORDS_READ)
        # The newest revision of each position, newest first.
        self._newest = list(
            {
                (a.branch, a.step, a.node, a.index, a.key): a for a in sorted(read, key=_revision)
            }.values()
        )
        self._oldest = (read[-1].branch, read[-1].step) if len(read) == RECORDS_READ else (-1, -1)
        at_step = Counter(a.step for a in read if a.kind in queries.PURE)
        self.crowded = {step for step, n in at_step.items() if n > queries.RECORDS_OF_A_STEP}

    def add_before(self, branch: int, after: int, last: int) -> None:
        """Put the activities of a branch above step `after`, up to `last`, before the others."""
        rows = [a for a in self._newest if a.branch == branch and after < a.step <= last]
        self.rows = sorted(rows, key=_time) + self.rows
        self.branches.append(branch)

    @property
    def is_cut(self) -> bool:
        """True if activities on the way may be older than those that were read."""
        return (self.target.branch, self.target.step + 1) <= self._oldest


def _revision(a: ActivityRow) -> int:
    return a.revision


def _time(a: ActivityRow) -> tuple[int, datetime, UUID]:
    return a.step, a.started_at, a.id


def after_fork(
    thread: ThreadRow,
    target: CheckpointRow,
    *,
    changed: bool,
    config: Mapping[str, Any],
    other: Mapping[str, Any],
    exchanged: ActivityRow | None = None,
) -> Expected:
    """The calls after `target` on its branch, for a fork with `other` in place of `config`.

    `changed`: the fork begins with other values in its state. `exchanged` is the call that has
    another output there.
    """
    ahead = CallsAhead(target)
    ahead.add_before(target.branch, target.step, ANY_STEP)
    return _judged(thread, ahead, changed=changed, config=config, other=other, exchanged=exchanged)


def after_roll_back(
    thread: ThreadRow, target: CheckpointRow, path: Sequence[tuple[UUID, int, int, int, int]]
) -> Expected:
    """The calls on the path from `target` to the head, for a thread that continues from there."""
    ahead = CallsAhead(target)
    for i, (owner, branch, lo, hi, hi_step) in enumerate(path):
        if owner != thread.id:
            break
        here = lo <= target.number <= hi
        # The step in progress stands one above the head's own.
        ahead.add_before(branch, target.step if here else -1, hi_step + (i == 0))
        if here:
            break
    config = queries.config_of(thread.id)
    return _judged(thread, ahead, changed=False, config=config, other=config)


def after_edit(thread: ThreadRow, *, changed: bool) -> Expected:
    """The finished calls of the step in progress, for an edit of the state that it began with.

    A record there answers for the same input only: a pure call with another one is called, an
    effect with another one puts the thread in `attention`.
    """
    calls = []
    for a in queries.step_activities(thread.id, branch=thread.branch, step=thread.step + 1):
        if changed and a.kind in CALLS and a.state == "done":
            why = "the state has other values"
            if a.kind == "effect":
                why += "; if its input differs, people are asked what to do"
            calls.append(Expectation(a, MAYBE, why, *_spent(a.usage)))
    return Expected(tuple(calls))


def _judged(
    thread: ThreadRow,
    ahead: CallsAhead,
    *,
    changed: bool,
    config: Mapping[str, Any],
    other: Mapping[str, Any],
    exchanged: ActivityRow | None = None,
) -> Expected:
    target, calls = ahead.target, list[Expectation]()
    why = _before_any_call(thread, target, changed=changed, differs=config != other)
    if not why and ahead.is_cut:
        why = "there are more calls after this checkpoint than are checked"
    touched = queries.touched_after(target.thread, branches=ahead.branches, number=target.number)
    requests = sorted(
        (a.requested_at, a.headline, a.id)
        for a in gates.for_thread(target.thread)
        if a.branch >= target.branch and a.step > target.step
    )
    tools = queries.agent_version(target.agent_version_id).tools
    once = [name for name, about in tools.items() if about.get("once")]
    for a in ahead.rows:
        if exchanged is not None and a.id == exchanged.id:
            why = why or "it follows the exchanged output"
            continue  # it is not called: its record stands in the fork
        why = why or _joined_before(a, ahead, touched, requests)
        if a.kind in CALLS and a.state in ("done", "compensated"):
            fate, because = _fate(a, why, config, other, once)
            calls.append(Expectation(a, fate, because, *_spent(a.usage)))
            if fate != REUSED and not why:
                why = f"it follows {a.tool}, which is called again"
        elif not why:
            why = _leads_elsewhere(a)
    return Expected(tuple(calls))


def _before_any_call(
    thread: ThreadRow, target: CheckpointRow, *, changed: bool, differs: bool
) -> str:
    """Say why the very first call may have other input; empty where it cannot."""
    if thread.external is not None:
        return "its agent works elsewhere and decides by itself"
    if code := _other_code(thread, target):
        return code
    if changed:
        return "the state starts with other values"
    return "the configuration differs" if differs else ""


def _joined_before(
    a: ActivityRow,
    ahead: CallsAhead,
    touched: int | None,
    requests: Sequence[tuple[datetime, str, UUID]],
) -> str:
    """Say what people or the length of the record add before this record; empty for nothing."""
    if touched is not None and a.step > touched:
        return "people's values joined the state before it"
    if a.step in ahead.crowded:
        return "its step has more calls than are checked"
    # The request of the call itself is asked again with it.
    for at, title, id_ in requests:
        if id_ != a.approval and at < a.started_at:
            return f"it follows a decision: {title}"
    return ""


def _leads_elsewhere(a: ActivityRow) -> str:
    """Say why what follows a record that is no finished call may have other input."""
    if a.kind == "value":
        if a.tool in SETTLED_VALUES:
            return ""
        return f"it follows {a.tool}, which may differ each time"
    if a.kind == "node":
        return "" if a.result else f"it follows {a.node}, which may have been skipped"
    return f"it follows {a.tool}, which did not finish"


def _fate(
    a: ActivityRow,
    why: str,
    config: Mapping[str, Any],
    other: Mapping[str, Any],
    once: Collection[str],
) -> tuple[str, str]:
    """(fate, why) of one call; `why` is what may have changed its input or the way to it."""
    repeated = _never_reused(a, config, other)
    if why:
        return MAYBE, f"{why}; if it is reached, it is called: {repeated}" if repeated else why
    if a.kind == "effect" and a.tool in once:
        return MAYBE, "it acts once: its result stands while it stays done"
    return (AGAIN, repeated) if repeated else (REUSED, "")


def _never_reused(a: ActivityRow, config: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Say why a call is made wherever the thread gets there; empty where its record may do."""
    if a.kind == "effect":
        return "effects are never reused"
    if a.kind == "activity" and a.tool in REPEATED:
        return REPEATED[a.tool]
    if (a.usage or {}).get("knows_more"):
        return "it may depend on more than its input"
    if config != other and (a.usage or {}).get("config"):
        return "it reads the configuration, which differs"
    if a.kind == "model":
        for name in ("model", "temperature"):
            if config.get(name) != other.get(name) and _input_of(a, name) == config.get(name):
                return f"the configuration has another {name}"
    return ""


def _input_of(a: ActivityRow, name: str) -> Any:
    return a.args.get(name) if isinstance(a.args, dict) else None


def _other_code(thread: ThreadRow, target: CheckpointRow) -> str:
    """Explain why nothing can be reused: other code recorded it, or other code will work."""
    if target.agent_version_id != thread.agent_version_id:
        return "the agent's code changed after this checkpoint"
    if queries.agent(thread.agent, workspace=thread.workspace).id != target.agent_version_id:
        return "the agent's code has changed since"
    return ""


def _spent(usage: Any) -> tuple[int, Decimal]:
    """(tokens, cost) that a call took, or would have taken where it was spared itself."""
    took = usage if isinstance(usage, Mapping) else {}
    tokens = took.get("tokens", took.get("reused_tokens")) or 0
    cost = took.get("cost", took.get("reused_cost")) or 0
    return int(tokens), Decimal(str(cost))
