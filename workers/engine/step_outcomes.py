"""Ways a step ends without a checkpoint: waiting, asleep, failed, parked, handed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from approvals.gates import Proposal
from approvals.rules.headlines import headline
from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import CannotDecrypt, InvalidValue
from checkpoints.records import Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import ActivityRow

from ..authoring.errors import (
    Asleep,
    ChildrenAwaited,
    GateReached,
    Halted,
    HandBack,
    OutsideActivity,
    Parked,
    SignalAwaited,
    Stop,
)
from ..authoring.graph import Node
from ..node.unknown_effects import NEVER_SETTLED, unknown_outcome
from ..step.answers import bounded_text
from ..step.ledger import Ledger
from ..step.step import OpenStep
from .between_steps import why_handed_back
from .node_outcomes import Done, Failed, NodeOutcome, Stopped, ends_step, save_update


def leave_unfinished(ledger: Ledger, step: OpenStep, outcomes: Sequence[NodeOutcome]) -> bool:
    """Leave the thread when not all nodes of the step are done; False when they are.

    1. Save the updates of nodes that have finished: they are not worked again.
    2. What ended the step for all its nodes comes first: a failure, a cap, a parked thread.
    3. Then gates: the requests of all nodes are opened together.
    4. Then children and signals that nodes wait for, until the first of these waits is over.
    5. Then sleep, until the first node is due.
    """
    if not [outcome for outcome in outcomes if not isinstance(outcome, Done)]:
        return False
    stops = [outcome.stop for outcome in outcomes if isinstance(outcome, Stopped)]
    ending = next((outcome for outcome in outcomes if ends_step(outcome)), None)
    _save_finished(ledger, step, outcomes)
    gates = [stop for stop in stops if isinstance(stop, GateReached)]
    joins = [stop for stop in stops if isinstance(stop, ChildrenAwaited)]
    signals = [stop for stop in stops if isinstance(stop, SignalAwaited)]
    sleeps = [stop for stop in stops if isinstance(stop, Asleep)]
    if isinstance(ending, Failed):
        if ending.refused is not None:
            rejected(step, ending.node, ending.refused)
        fail(ledger, step, ending.node, ending.reason)
    elif isinstance(ending, Stopped):
        _leave_by(ledger, step, ending.stop)
    elif joins or signals:
        _await(ledger, step, joins, signals, gates, sleeps)
    elif gates:
        wait(ledger, step, gates)
    else:
        _sleep(ledger, step, min(sleeps, key=lambda stop: stop.seconds))
    return True


def _save_finished(ledger: Ledger, step: OpenStep, outcomes: Sequence[NodeOutcome]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Done) and not outcome.is_saved:
            save_update(ledger, step, outcome, step.take_events())


def _leave_by(ledger: Ledger, step: OpenStep, stop: Stop) -> None:
    if isinstance(stop, HandBack):
        ledger.hand_back(step.work, why_handed_back(step.work))
    elif isinstance(stop, Parked):
        park(ledger, step.work, stop, step.take_events())
    elif isinstance(stop, Halted):
        halt(ledger, step, stop)
    else:
        raise TypeError(f"{stop!r} does not end a step")


def _await(
    ledger: Ledger,
    step: OpenStep,
    joins: Sequence[ChildrenAwaited],
    signals: Sequence[SignalAwaited],
    gates: Sequence[GateReached],
    sleeps: Sequence[Asleep],
) -> None:
    """running -> waiting for children or signals, beside requests where other nodes have some.

    What is awaited is noted before the thread is left; children that ended in between are looked
    for after, a signal that came in between keeps the thread here.
    """
    times = [join.seconds for join in joins if join.seconds is not None]
    times += [signal.seconds for signal in signals if signal.seconds is not None]
    times += [sleep.seconds for sleep in sleeps]
    least = max(0.0, min(times)) if times else None
    ledger.await_children(step.work, [join.children for join in joins], seconds=least)
    awaited: dict[str, Any] = {}
    if joins:
        awaited["joins"] = [
            {"number": n, "need": j.need, "of": len(j.children), "raises": j.raises}
            for n, j in enumerate(joins, 1)
        ]
    if signals:
        schemas: dict[str, Any] = {signal.name: signal.schema for signal in signals}
        for signal in signals:  # a value that fits one of two waits is refused by neither
            if signal.schema != schemas[signal.name]:
                schemas[signal.name] = None
        awaited["signals"] = schemas
    if gates:
        wait(ledger, step, gates, beside=awaited)
    else:
        if signals:
            step.work.wake_seq = step.woken
        ledger.leave(
            step.work,
            EventKind.THREAD_SUSPENDED,
            events=step.take_events(),
            waiting_on={
                **_first(joins, signals),
                "nodes": list(step.work.next_nodes),
                **awaited,
            },
            unless_woken=bool(signals),
        )
    if joins:
        ledger.look_for_children(step.work)


def _first(joins: Sequence[ChildrenAwaited], signals: Sequence[SignalAwaited]) -> dict[str, Any]:
    """Name what the thread waits for first of all, for people and filters."""
    if not joins:
        message = f"Waiting for the signal {' or '.join(dict.fromkeys(s.name for s in signals))}"
        times = [s.until for s in signals if s.until is not None]
        if times:
            message += f" until {datetime.fromtimestamp(min(times), UTC):%Y-%m-%d %H:%M:%S} UTC"
        return {"kind": "signal", "sentence": message}
    need, of = joins[0].need, len(joins[0].children)
    which = f"{of} children" if need == of else f"{need} of {of} children"
    message = f"Waiting for {which} to end"
    return {"kind": "children", "need": need, "of": of, "sentence": message}


def _sleep(ledger: Ledger, step: OpenStep, sleep: Asleep) -> None:
    """running -> sleeping, until its time or a person's wish."""
    ledger.leave(
        step.work,
        EventKind.THREAD_SLEPT,
        reason=sleep.reason,
        wake_at_seconds=sleep.seconds,
        events=step.take_events(),
        data={"seconds": round(sleep.seconds, 3)},
    )


def wait(
    ledger: Ledger,
    step: OpenStep,
    stops: Sequence[GateReached],
    *,
    beside: Mapping[str, Any] | None = None,
) -> None:
    """running -> waiting, with the new requests; or round once more when news arrived.

    News counts from when the step's requests were read: a decision on one of them may have come
    while a sibling worked, and what that recorded has seen the news already.
    """
    step.work.wake_seq = step.woken
    new: list[Proposal] = [p for stop in stops for p in stop.proposals]
    titles = [
        *(t for stop in stops for t in stop.waits),
        *(headline(p.title, p.sentence) for p in new),
    ]
    waiting_on: dict[str, Any] = {
        "kind": "gate",
        "nodes": list(step.work.next_nodes),
        "titles": titles,
        **(beside or {}),
    }
    ledger.ask(step.work, new, events=step.take_events(), waiting_on=waiting_on)


def rejected(step: OpenStep, node: Node, error: InvalidValue) -> None:
    """Record that a node's update was refused, with its path and the reason."""
    step.add_event(
        NewEvent(
            EventKind.UPDATE_REJECTED,
            {
                "node": node.name,
                "path": error.path,
                "why": bounded_text(step.masked(error.reason)),
            },
            step.work.owner,
        )
    )


def unfit(
    ledger: Ledger, work: Work, error: InvalidValue | OutsideActivity, encrypted: ThreadState
) -> None:
    """Fail a thread whose state the installed schema refuses: an input, an edit, other code."""
    if isinstance(error, OutsideActivity):
        ledger.leave(work, EventKind.THREAD_FAILED, reason=f"A validator: {error.message}")
        return
    why = bounded_text(encrypted.masked(str(error)))
    ledger.leave(
        work,
        EventKind.THREAD_FAILED,
        reason=f"The state does not fit the schema of {work.agent!r}: {why}. "
        "Edit the state, then retry.",
        data={"path": error.path},
    )


def unreadable(ledger: Ledger, work: Work, error: CannotDecrypt) -> None:
    """Fail a thread with an encrypted channel that nothing here can decrypt."""
    ledger.leave(
        work,
        EventKind.THREAD_FAILED,
        reason=f"{error.message} Bring the key back and retry, or fork with other values.",
    )


def fail(ledger: Ledger, step: OpenStep, node: Node, reason: str) -> None:
    """Record the failed step and leave the thread failed."""
    reason = bounded_text(step.masked(reason))
    step.add_event(
        NewEvent(
            EventKind.STEP_FAILED,
            {"node": node.name, "step": step.number, "error": reason},
            step.work.owner,
        )
    )
    message, events = f"{node.name}: {reason}"[:2000], step.take_events()
    if step.on_failure == "undo" and ledger.begin_undo(step.work, reason=message, events=events):
        return
    ledger.leave(
        step.work, EventKind.THREAD_FAILED, reason=message, data={"node": node.name}, events=events
    )


def park(ledger: Ledger, work: Work, stop: Parked, events: Sequence[NewEvent] = ()) -> None:
    """Leave the thread in need of a person, with what it waits for."""
    ledger.leave(
        work,
        EventKind.THREAD_PARKED,
        reason=stop.reason,
        waiting_on=stop.waiting_on,
        events=events,
    )


def leave_open_effects(ledger: Ledger, step: OpenStep) -> bool:
    """Leave a thread to a person where effects of earlier steps were never settled; if it was."""
    return _ask_about(ledger, step, step.left_open)


def leave_unreached_effects(ledger: Ledger, step: OpenStep) -> bool:
    """Leave a thread to a person where its nodes came to no open effect of a former attempt.

    A node whose worker was lost may go another way when it works again. No checkpoint passes an
    effect of which nobody knows whether it happened. Returns whether the thread was left.
    """
    if not [effect for effect in step.records.values() if _is_open(effect)]:
        return False
    rows = ledger.recorded(step.work, step.number)
    return _ask_about(ledger, step, [effect for effect in rows if _is_open(effect)])


def _is_open(activity: ActivityRow) -> bool:
    return activity.kind == "effect" and activity.state in ("started", "unknown")


def _ask_about(ledger: Ledger, step: OpenStep, effects: Sequence[ActivityRow]) -> bool:
    for effect in effects:
        if effect.state == "started":
            ledger.lost(step.work, effect.id)
    if effects:
        stop = unknown_outcome(effects[0].tool, effects[0].id, NEVER_SETTLED)
        park(ledger, step.work, stop, step.take_events())
    return bool(effects)


def halt(ledger: Ledger, step: OpenStep, stop: Halted) -> None:
    """running -> paused: a cap leaves no room; resumed, it finds it raised or pauses again."""
    ledger.leave(
        step.work,
        EventKind.THREAD_PAUSED,
        reason=stop.reason,
        data={"cap": True},
        events=step.take_events(),
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
        # A rollback that stopped half-way continues by Retry alone, whatever code is there.
        waiting_on={"kind": "agent", "choices": [] if work.rollback else ["pin"]},
    )
