"""What an agent that works elsewhere says came of its calls, as the record keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal
from uuid import UUID

from uuid_utils.compat import uuid7

from approvals.policies import node_policies
from checkpoints import leases, queries, store, undo
from checkpoints.errors import NotAllowedNow, NotFound
from checkpoints.names import skeleton
from checkpoints.queries.installation.fleet import announced_agent, announced_tool
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state import deltas
from checkpoints.states import EventKind, Status
from checkpoints.store.activities import Outcome
from checkpoints.views import ActivityRow

from ..engine.rollback import Undoing
from ..node.unknown_effects import unknown_outcome
from ..step.advice import EVENT_BYTES
from ..step.answers import answered
from ..step.results import bounded_form
from .open_step import ReportedLedger, open_step
from .reported import Reported, leave

type Outside = Literal["done", "failed", "unknown"]


def settle(
    work: Work,
    at: Mapping[str, Any],
    *,
    state: Outside,
    result: Any,
    error: str,
    usage: Any,
    kind: str,
    tool: str,
    args: Any,
) -> ActivityRow:
    """Record the outcome of a call at a position; settled again, it is as it was.

    An effect has to have been begun; a pure call is named by its kind, tool and arguments. Raises
    LeaseLost, NotAllowedNow.
    """
    step = open_step(work)
    position = Position(work.branch, step.number, at["node"], at["index"], at["key"])
    known = step.record_at(position)
    begun = known is not None and known.kind == "effect"  # also what policies made one
    if kind != "effect" and not begun:
        is_new = known is None or known.state != "done"
        if is_new and step.ledger.asks_of_call(work, tool, args):
            raise NotAllowedNow(
                f"A policy asks about {tool!r}: begin the call first.", status=str(work.status)
            )
        message = error or ("" if state == "done" else "It failed.")
        reported = Reported(step, position)
        reported.settle_call(kind, tool, args, result=result, error=message, usage=usage)
    elif known is None or not begun:
        raise NotAllowedNow("Nothing has begun at this position.", status=str(work.status))
    elif known.state == "started":
        made = store.effect_as_written(work.thread, known.id)
        if made is None:
            raise AssertionError("a record that is gone")
        outcome: dict[str, Any] = {"result": result} if state == "done" else {"error": error}
        outcome["usage"] = (made[0].usage or {}) | (usage or {}) or None
        step.ledger.end_effect(work, made[0], state=state, **outcome)
        if state == "unknown":
            leave(step, [unknown_outcome(known.tool, known.id, error)])
    return _at(work.thread, work.branch, step.number, position)


def _at(thread: UUID, branch: int, step: int, position: Position) -> ActivityRow:
    rows = answered(queries.step_activities(thread, branch=branch, step=step))
    return rows[position]


def record(
    work: Work, after: UUID | None, values: Sequence[Mapping[str, Any]]
) -> list[ActivityRow]:
    """Record pure calls that are done, all in one statement; the records as they then stand.

    They stand in the step after the checkpoint `after`, else after the head. A result that differs
    from the recorded one is a newer revision.
    """
    branch, number = work.branch, work.step + 1
    if after is not None and after != work.head:
        point = queries.checkpoint(work.thread, after)
        branch, number = point.branch, point.step + 1
    known = answered(queries.step_activities(work.thread, branch=branch, step=number))
    ledger, is_call = ReportedLedger(), cache(partial(_is_call, work))
    made: dict[Position, tuple[NewActivity, Outcome]] = {}
    for index, value in enumerate(values):
        position = Position(branch, number, value["node"], value["index"], value["key"])
        before = known.get(position)
        if before is not None and before.state == "done" and _same(before, value):
            continue
        if before is not None and before.kind == "effect":
            raise NotAllowedNow(
                f"records[{index}]: there is an effect at this position.", status=str(work.status)
            )
        if is_call(value["kind"], value["tool"]) and ledger.asks_of_call(
            work, value["tool"], value["args"]
        ):
            raise NotAllowedNow(
                f"records[{index}]: a policy asks about {value['tool']!r}. Begin the call, so that "
                "it can be held.",
                status=str(work.status),
            )
        activity = NewActivity(
            id=uuid7(),
            position=position,
            kind=value["kind"],
            tool=value["tool"],
            args=value["args"],
            idempotency_key="",
            revision=0 if before is None else before.revision + 1,
        )
        outcome: Outcome = {"result": value["result"]}
        if value["usage"]:
            outcome["usage"] = value["usage"]
        made[position] = (activity, outcome)
    if made:
        store.record_activities(work, list(made.values()))
    return recorded(work.thread, branch, number)


def _is_call(work: Work, kind: str, tool: str) -> bool:
    """Say whether a record is of a call: a value is none, unless it names a tool of the agent.

    A name that looks like a tool's counts as its name. Without an active policy nobody asks, and
    there is nothing to look up.
    """
    if kind != "value" or not tool or not node_policies.any_exist(work.workspace):
        return kind != "value"
    tools = announced_agent(work.agent_version).tools
    if skeleton(tool) in map(skeleton, tools):
        return True
    return announced_tool(work.agent_version, tool) is not None


def recorded(thread: UUID, branch: int, step: int) -> list[ActivityRow]:
    """The newest record of each position of a step, in their order."""
    rows = answered(queries.step_activities(thread, branch=branch, step=step))
    return [rows[p] for p in sorted(rows, key=lambda p: (p.node, p.index, p.key))]


def _same(before: ActivityRow, value: Mapping[str, Any]) -> bool:
    one = [before.kind, before.tool, before.args, before.result]
    other = [value["kind"], value["tool"], value["args"], value["result"]]
    return bool(deltas.canonical(one) == deltas.canonical(other))


def to_undo(thread: UUID, plan: Mapping[str, Any]) -> list[ActivityRow]:
    """The effects that the agent has still to undo, in their order."""
    effects = [queries.activity(UUID(ident)) for ident in plan["undo"]]
    failed = queries.undo_failures(thread)
    return [e for e in effects if e.state != "compensated" and str(e.id) not in failed]


def settle_undo(work: Work, activity: UUID, *, result: Any, error: str) -> None:
    """Record that an effect of the plan was undone, or could not be; after the last, go back."""
    effect, plan = queries.activity(activity), work.rollback
    if effect.thread != work.thread:
        raise NotFound("There is no such activity in this thread.")
    if work.status is not Status.ROLLING_BACK or plan is None or str(activity) not in plan["undo"]:
        raise NotAllowedNow("There is nothing to undo there.", status=str(work.status))
    failed = str(activity) in queries.undo_failures(work.thread)
    if effect.state != "compensated" and not failed:
        ledger = ReportedLedger()
        ledger.compensation(work, activity, tool=effect.tool, kind=EventKind.COMPENSATION_STARTED)
        if error:
            how: dict[str, Any] = {"kind": EventKind.COMPENSATION_FAILED, "error": error}
        else:
            keep = partial(ledger.artifact, work)
            form = bounded_form(result, f"undo of {effect.tool}", keep, EVENT_BYTES)
            how = {"kind": EventKind.COMPENSATION_FINISHED, "result": form}
        ledger.compensation(work, activity, tool=effect.tool, **how)
    go_back_if_undone(work)


def go_back_alone(thread: UUID, *, owner: str) -> None:
    """Move the head of a thread that rolls back with nothing to undo; its agent need not come.

    The move may be in the transaction of the request itself, so its commit waits for the flush.
    """
    work = leases.acquire(thread, owner=owner, flushed=True, past_breakers=True)
    if work is not None and not go_back_if_undone(work):
        store.hand_back(work, reason="its agent has to undo effects")


def go_back_if_undone(work: Work) -> bool:
    """Move the head as the plan says once nothing is left to undo; gives the lease back then."""
    plan = work.rollback or {"undo": []}
    if to_undo(work.thread, plan):
        return False
    failed = queries.undo_failures(work.thread)
    undoing = Undoing(work, {}, ReportedLedger())
    for ident in plan["undo"]:
        effect = queries.activity(UUID(ident))
        name = undo.named(effect)
        if effect.state == "compensated":
            undoing.undone.append(name)
        else:
            undoing.left.append((effect.id, f"{name} ({failed[ident][1]})"))
    undoing.end()
    return True
