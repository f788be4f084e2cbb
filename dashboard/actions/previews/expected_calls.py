"""Predict which recorded calls a fork or rollback will reuse and which it will repeat.

The agent is not executed for this, so three answers are honest: `reused` (asked the same thing, by
the same code, before anything that may come out otherwise), `again` (an effect, a model with
another configuration, other code) and `maybe` (reused where its input turns out to be the same).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from approvals import queries as gates
from checkpoints import queries
from checkpoints.views import ActivityRow, CheckpointRow, ThreadRow

RECORDS_LOOKED_AT = 2_000
CALLS = ("activity", "model", "effect")
# What is new each time and may lead to other input.
FRESH = ("now", "random", "uuid")
REUSED, AGAIN, MAYBE = "reused", "again", "maybe"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected fate of one recorded call; tokens and cost are those it took."""

    activity: ActivityRow
    fate: str
    why: str
    tokens: int
    cost: Decimal


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
    rows = _after(target)
    return _judged(
        thread, target, rows, changed=changed, config=config, other=other, exchanged=exchanged
    )


def after_roll_back(
    thread: ThreadRow, target: CheckpointRow, path: Sequence[tuple[UUID, int, int, int, int]]
) -> Expected:
    """The calls on the path from `target` to the head, for a thread that continues from there."""
    activities: list[ActivityRow] = []
    rows = _newest_first(thread.id)
    for i, (owner, branch, lo, hi, hi_step) in enumerate(path):
        if owner != thread.id:
            break
        here = lo <= target.number <= hi
        # The step in progress stands one above the head's own.
        top, low = hi_step + (i == 0), target.step if here else -1
        activities += [a for a in rows if a.branch == branch and low < a.step <= top]
        if here:
            break
    config = queries.config_of(thread.id)
    return _judged(thread, target, activities[::-1], changed=False, config=config, other=config)


def _newest_first(thread: UUID) -> list[ActivityRow]:
    """List a thread's recorded activities, only the newest revision of each position."""
    results: dict[tuple[Any, ...], ActivityRow] = {}
    for a in queries.activities(thread, limit=RECORDS_LOOKED_AT):
        position = (a.branch, a.step, a.node, a.index, a.key)
        if position not in results or results[position].revision < a.revision:
            results[position] = a
    return list(results.values())


def _after(target: CheckpointRow) -> list[ActivityRow]:
    rows = _newest_first(target.thread)
    return [a for a in rows if a.branch == target.branch and a.step > target.step][::-1]


def _judged(
    thread: ThreadRow,
    target: CheckpointRow,
    rows: Iterable[ActivityRow],
    *,
    changed: bool,
    config: Mapping[str, Any],
    other: Mapping[str, Any],
    exchanged: ActivityRow | None = None,
) -> Expected:
    calls: list[Expectation] = []
    why = "the state starts with other values" if changed else ""
    if not why and config != other:
        why = "the configuration differs"
    code = _other_code(thread, target)
    touched = queries.touched_after(target.thread, branch=target.branch, number=target.number)
    request = sorted(
        (a.requested_at, a.headline)
        for a in gates.for_thread(target.thread)
        if a.branch >= target.branch and a.step > target.step
    )
    for a in rows:
        if exchanged is not None and a.id == exchanged.id:
            why = why or "it follows the exchanged output"
            continue  # it is not called: its record stands in the fork
        if not why and touched is not None and a.step > touched:
            why = "people's values joined the state before it"
        if not why and request and a.kind != "effect" and request[0][0] < a.started_at:
            why = f"it follows a decision: {request[0][1]}"
        if a.kind in CALLS and a.state in ("done", "compensated"):
            fate, because = _fate(a, code, why, config, other)
            calls.append(Expectation(a, fate, because, *_spent(a.usage)))
            if fate == AGAIN and not why:
                why = f"it follows {a.tool}, which is called again"
        elif not why and a.kind == "value" and a.tool in FRESH:
            why = f"it follows ctx.{a.tool}(), which differs each time"
    return Expected(tuple(calls))


def _fate(
    a: ActivityRow, code: str, why: str, config: Mapping[str, Any], other: Mapping[str, Any]
) -> tuple[str, str]:
    """(fate, why) of one call; `why` is what may have changed its input."""
    if a.kind == "effect":
        return AGAIN, "effects are never reused"
    if code:
        return AGAIN, code
    if (a.usage or {}).get("knows_more"):
        return AGAIN, "it may depend on more than its input"
    if config != other and (a.usage or {}).get("config"):
        return AGAIN, "it reads the configuration, which differs"
    if a.kind == "model":
        for name in ("model", "temperature"):
            if config.get(name) != other.get(name) and _input_of(a, name) == config.get(name):
                return AGAIN, f"the configuration has another {name}"
    return (MAYBE, why) if why else (REUSED, "")


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
