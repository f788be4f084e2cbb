"""How a step is left without a checkpoint: it waits, fails, is parked; what was done is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uuid_utils.compat import uuid7

from approvals.gates import Proposal
from approvals.rules.headlines import headline
from checkpoints.errors import InvalidValue
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from ..authoring.errors import GateReached, Halted, OutsideActivity, Parked
from ..authoring.graph import Node
from ..step.answers import kept
from ..step.ledger import Ledger
from ..step.step import OpenStep


def keep(ledger: Ledger, run: OpenStep, fresh: Sequence[tuple[Node, dict[str, Any]]]) -> None:
    """Save what siblings have finished in a step that stops before its end."""
    for node, update in fresh:
        position = Position(run.work.branch, run.step, node.name, 0, "node")
        ledger.record(
            run.work,
            NewActivity(
                id=uuid7(),
                position=position,
                kind="node",
                tool=node.name,
                args={},
                idempotency_key="",
            ),
            result=update,
            events=run.take_events(),
        )


def wait(ledger: Ledger, run: OpenStep, stops: Sequence[GateReached]) -> None:
    """running -> waiting, with the new requests; or round once more when news arrived.

    News counts from when the step's requests were read: a decision on one of them may have come
    while a sibling worked, and what that recorded has seen the news already.
    """
    run.work.wake_seq = run.woken
    new: list[Proposal] = [p for stop in stops for p in stop.proposals]
    titles = [
        *(t for stop in stops for t in stop.waits),
        *(headline(p.title, p.sentence) for p in new),
    ]
    ledger.ask(
        run.work,
        new,
        events=run.take_events(),
        waiting_on={"kind": "gate", "nodes": list(run.work.next_nodes), "titles": titles},
    )


def rejected(run: OpenStep, node: Node, error: InvalidValue) -> None:
    run.add_event(
        NewEvent(
            EventKind.UPDATE_REJECTED,
            {"node": node.name, "path": error.path, "why": kept(error.reason)},
            run.work.owner,
        )
    )


def unfit(ledger: Ledger, work: Work, error: InvalidValue | OutsideActivity) -> None:
    """Fail a thread whose state the installed schema refuses: an input, an edit, other code."""
    if isinstance(error, OutsideActivity):
        ledger.leave(work, EventKind.THREAD_FAILED, reason=f"A validator: {error.message}")
        return
    ledger.leave(
        work,
        EventKind.THREAD_FAILED,
        reason=f"The state does not fit the schema of {work.agent!r}: {kept(str(error))}. "
        "Edit the state, then retry.",
        data={"path": error.path},
    )


def fail(ledger: Ledger, run: OpenStep, node: Node, reason: str) -> None:
    reason = kept(reason)
    run.add_event(
        NewEvent(
            EventKind.STEP_FAILED,
            {"node": node.name, "step": run.step, "error": reason},
            run.work.owner,
        )
    )
    said, events = f"{node.name}: {reason}"[:2000], run.take_events()
    if run.on_failure == "undo" and ledger.begin_undo(run.work, reason=said, events=events):
        return
    ledger.leave(
        run.work, EventKind.THREAD_FAILED, reason=said, data={"node": node.name}, events=events
    )


def park(ledger: Ledger, work: Work, stop: Parked, events: Sequence[NewEvent] = ()) -> None:
    ledger.leave(
        work,
        EventKind.THREAD_PARKED,
        reason=stop.reason,
        waiting_on=stop.waiting_on,
        events=events,
    )


def halt(ledger: Ledger, run: OpenStep, stop: Halted) -> None:
    """running -> paused: a cap leaves no room; whoever resumes it finds it raised, or pauses."""
    ledger.leave(
        run.work,
        EventKind.THREAD_PAUSED,
        reason=stop.reason,
        data={"cap": True},
        events=run.take_events(),
    )


def refuse_missing(ledger: Ledger, work: Work) -> None:
    """Park a thread whose agent is not installed here."""
    ledger.leave(
        work,
        EventKind.THREAD_PARKED,
        reason=(
            f"No code for the agent {work.agent!r} is installed in the worker that serves it. "
            "Install it (GATEPOST_AGENTS), restart the worker, then retry."
        ),
        # A rollback that stopped half-way goes on by Retry alone, whatever code is there.
        waiting_on={"kind": "agent", "choices": [] if work.rollback else ["pin"]},
    )
