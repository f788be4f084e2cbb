"""Why a thread stands still, in one sentence: one explanation for page, API and `doctor`; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from ..breakers.rule import StoppedRow
from ..states import FINISHED, Status
from ..verdicts import question_of
from ..views import (
    QUEUE_COUNTED,
    Awaited,
    QueuePosition,
    ReasonRow,
    StuckRow,
    ThreadRow,
    WorkerRow,
)

# What a person does about a failure, and what is left once somebody has edited the state.
EDIT_FIRST, EDITED = (
    "Edit the state where needed, then retry",
    "The state was edited since; retry",
)


class OpenRequest(Protocol):
    """The fields of a request for approval that this module needs; `approvals` has all of them.

    `decide_by` is the deadline that counts now: another one once others were called in.
    """

    @property
    def id(self) -> UUID: ...

    @property
    def headline(self) -> str: ...

    @property
    def requested_at(self) -> datetime: ...

    @property
    def decide_by(self) -> datetime | None: ...


def why_waiting(
    thread: ThreadRow,
    approvals: Sequence[OpenRequest] = (),
    workers: Sequence[WorkerRow] = (),
    *,
    awaited: Awaited | None = None,
    now: datetime | None = None,
    edited: bool = False,
    position: QueuePosition | None = None,
) -> ReasonRow:
    """Explain any standstill from the row, its open requests and the workers as they are seen.

    `awaited` are the children that it waits for, `position` is that in its queue. `edited`:
    somebody edited it since.

    Kinds: working, agent, pause, lease, gate, children, signal, wake, timer, queue, no_worker,
    no_code, watched, paused, breaker, attention, failed, finished, stuck. `action` says what a
    person can do, empty where nothing is needed.
    """
    result = _usual(thread, approvals, workers, awaited, now, position)
    if edited and EDIT_FIRST in result.action:
        result = replace(result, action=result.action.replace(EDIT_FIRST, EDITED))
    return result if thread.stuck is None else _stuck(result, thread.stuck)


def _stuck(why: ReasonRow, stuck: StuckRow) -> ReasonRow:
    """Say of a thread that takes far longer than usual that it does, and what helps."""
    facts = why.facts | {"stuck": stuck.rule}
    if stuck.rule in ("silent", "repeats"):
        return ReasonRow("stuck", stuck.reason, stuck.since, stuck.action, facts)
    message = f"{why.sentence} {stuck.reason}" if stuck.rule == "person" else why.sentence
    return ReasonRow(why.kind, message, why.since, why.action or stuck.action, facts)


def _usual(
    thread: ThreadRow,
    approvals: Sequence[OpenRequest],
    workers: Sequence[WorkerRow],
    awaited: Awaited | None,
    now: datetime | None,
    position: QueuePosition | None,
) -> ReasonRow:
    clock = now or thread.read_at
    if thread.external is not None and thread.external.watched:
        return _watched(thread)
    if thread.stopped is not None and thread.status in _TAKEN:
        return _stopped(thread, thread.stopped, clock)
    match thread.status:
        case Status.RUNNING | Status.ROLLING_BACK:
            return _leased(thread, workers, clock)
        case Status.QUEUED:
            return _queued(thread, workers, position)
        case Status.WAITING:
            return _waiting(thread, approvals, awaited)
        case Status.SLEEPING:
            return _sleeping(thread, workers, clock)
        case Status.PAUSED:
            return _paused(thread, approvals)
        case Status.ATTENTION if _half_undone(thread):
            return ReasonRow(
                "attention",
                sentence(thread.status_reason),
                thread.status_since,
                "Fix what keeps the undo from working, then retry: it continues with exactly "
                "these. Or undo them manually and roll back without undo, or cancel.",
            )
        case Status.ATTENTION:
            return _attention(thread)
        case Status.FAILED:
            return ReasonRow(
                "failed",
                sentence(thread.status_reason or "A step failed"),
                thread.status_since,
                f"{EDIT_FIRST}.",
            )
    message = thread.status_reason or f"The thread has {thread.status}"
    if thread.status is Status.CANCELLED:
        message, check = "The thread was cancelled", ""
        if thread.status_reason:
            message = f"{message}. {thread.status_reason}"
        if thread.status_reason.endswith("is unknown."):
            check = "Check outside whether it happened."
        return ReasonRow("finished", sentence(message), thread.status_since, check)
    return ReasonRow("finished", sentence(message), thread.status_since)


# Continue only when a worker takes them. Others wait for something else; a breaker lets them.
_TAKEN = (Status.QUEUED, Status.RUNNING, Status.ROLLING_BACK)


def _stopped(thread: ThreadRow, breaker: StoppedRow, now: datetime) -> ReasonRow:
    """Explain the standstill of a thread that a breaker stops, or its last moments at work."""
    facts = {"breaker": str(breaker.id)}
    action = "Release the breaker."
    message = breaker.sentence
    if thread.lease_owner and thread.lease_until is not None and thread.lease_until >= now:
        message += f" Its worker finishes its call at {_nodes(thread)} and gives it back."
        facts |= {"owner": thread.lease_owner}
    return ReasonRow("breaker", message, max(breaker.at, thread.status_since), action, facts)


def _watched(thread: ThreadRow) -> ReasonRow:
    """Explain the standstill of a thread that nobody here controls."""
    if thread.status in FINISHED:
        message = thread.status_reason or f"The thread has {thread.status}"
        return ReasonRow("finished", sentence(message), thread.status_since)
    message = f"Watched, not controlled: {thread.agent} works elsewhere and waits for nothing here."
    return ReasonRow("watched", message, thread.status_since)


def _half_undone(thread: ThreadRow) -> bool:
    waits = thread.waiting_on
    return isinstance(waits, dict) and waits.get("kind") == "undo"


def _nodes(thread: ThreadRow) -> str:
    return ", ".join(thread.next_nodes) or "the end"


def sentence(text: str) -> str:
    """Text that ends like a sentence."""
    stripped = " ".join(text.split())
    return stripped if stripped.endswith((".", "!", "?", "…")) else f"{stripped}."


def may_be_taken(thread: ThreadRow, workers: Sequence[WorkerRow]) -> bool:
    """True if a live worker has the code of a thread: what it waits for is its turn."""
    return any(w.alive and str(thread.agent_version_id) in w.agents for w in workers)


def _no_worker(thread: ThreadRow, workers: Sequence[WorkerRow]) -> ReasonRow | None:
    """Explain why no worker can take the thread; None where one can."""
    alive = [w for w in workers if w.alive]
    if not alive:
        seen = max((w.seen_at for w in workers), default=None)
        return ReasonRow(
            "no_worker",
            "No worker is running."
            if seen is None
            else f"No worker is running; the last one was seen at {_time(seen)}.",
            thread.status_since,
            "Start a worker.",
            {"workers": 0, "seen_at": None if seen is None else seen.isoformat()},
        )
    if not may_be_taken(thread, alive):
        return ReasonRow(
            "no_code",
            f"No running worker has this code of {thread.agent} (version {thread.version_label}).",
            thread.status_since,
            "Start a worker with this version of the agent.",
            {"workers": len(alive)},
        )
    return None


def _elsewhere(thread: ThreadRow, what: str) -> ReasonRow:
    """A thread that its agent, which works elsewhere, could take now."""
    message = f"Waiting for its agent, which works elsewhere, to {what}."
    return ReasonRow("agent", message, thread.status_since, "Start the agent if it isn't running.")


def _queued(
    thread: ThreadRow, workers: Sequence[WorkerRow], position: QueuePosition | None
) -> ReasonRow:
    if thread.external is not None:
        return _elsewhere(thread, f"take it; next is {_nodes(thread)}")
    alive = [w for w in workers if w.alive]
    if thread.pinned and not may_be_taken(thread, alive):
        return ReasonRow(
            "no_code",
            "Pinned to the code it stopped with, which no running worker has: "
            f"{thread.agent}, version {thread.version_label}.",
            thread.status_since,
            "Start a worker with that code, or choose other code for it.",
            {"workers": len(alive)},
        )
    if lost := _no_worker(thread, workers):
        return lost
    facts: dict[str, Any] = {"workers": len(alive)}
    if position is not None:
        facts |= asdict(position)
        with_code = [w for w in alive if str(thread.agent_version_id) in w.agents]
        if not any(position.queue in w.queues for w in with_code):
            return ReasonRow(
                "no_worker",
                f"No running worker with this code serves the queue {position.queue}.",
                thread.status_since,
                "Start a worker that serves it.",
                facts,
            )
    message = f"Waiting for a free worker{_behind(position)}; next is {_nodes(thread)}."
    return ReasonRow("queue", message, thread.status_since, facts=facts)


def _behind(position: QueuePosition | None) -> str:
    """Name the threads before it in its queue, as a sentence continues; empty without any."""
    if position is None or not (position.before or position.turns):
        return ""
    own, others = _number(position.before), _number(position.turns)
    if not position.before:
        return f" behind up to {others} of other workspaces in the queue {position.queue}"
    between = f" and up to {others} of others" if position.turns else ""
    return f" behind {own} of this workspace{between} in the queue {position.queue}"


def _number(threads: int) -> str:
    """A count of threads that ends where nobody counts on."""
    if threads == QUEUE_COUNTED:
        return f"{QUEUE_COUNTED:,} or more threads"
    return f"{threads:,} thread{'' if threads == 1 else 's'}"


def _leased(thread: ThreadRow, workers: Sequence[WorkerRow], now: datetime) -> ReasonRow:
    undoing = thread.status is Status.ROLLING_BACK
    if not thread.lease_owner:
        if thread.wake_at is not None and thread.wake_at > now:
            return ReasonRow(
                "timer",
                f"An undo failed; it is tried again at {_time(thread.wake_at)}.",
                thread.status_since,
                facts={"wake_at": thread.wake_at.isoformat()},
            )
        if thread.external is not None:
            return _elsewhere(thread, "undo effects")
        lost = _no_worker(thread, workers)
        return lost or ReasonRow(
            "queue", "Waiting for a worker to undo effects.", thread.status_since
        )
    facts = {"owner": thread.lease_owner, "fence": thread.fence}
    if thread.lease_until is not None and thread.lease_until < now:
        if thread.external is not None:
            return ReasonRow(
                "lease",
                f"No report from its agent; the lease expired at {_time(thread.lease_until)}. "
                "The next worker that takes the thread continues.",
                thread.lease_until,
                "Start the agent if it isn't running.",
                facts,
            )
        return _no_worker(thread, workers) or ReasonRow(
            "lease",
            f"No sign of life from its worker; the lease expired at {_time(thread.lease_until)} "
            "and another worker will take over.",
            thread.lease_until,
            facts=facts,
        )
    if undoing:
        message = "A worker is undoing effects."
        return ReasonRow("working", message, thread.status_since, facts=facts)
    if thread.wish == "pause":
        message = f"Working on {_nodes(thread)}; pauses after this step."
        return ReasonRow("pause", message, thread.status_since, facts=facts)
    return ReasonRow("working", f"Working on {_nodes(thread)}.", thread.status_since, facts=facts)


def _waiting(
    thread: ThreadRow, approvals: Sequence[OpenRequest], awaited: Awaited | None
) -> ReasonRow:
    if approvals:
        first = min(approvals, key=lambda a: a.requested_at)
        many = f" and {len(approvals) - 1} more" if len(approvals) > 1 else ""
        until = f"; it expires at {_time(first.decide_by)}" if first.decide_by else ""
        return ReasonRow(
            "gate",
            sentence(f"Waiting for a decision: {first.headline.rstrip('.')}{many}{until}"),
            first.requested_at,
            "A reviewer decides.",
            {"approvals": [str(a.id) for a in approvals]},
        )
    if awaited is not None and awaited.n:
        return _for_children(thread, awaited)
    if isinstance(thread.waiting_on, dict) and thread.waiting_on.get("sentence"):
        message = sentence(str(thread.waiting_on["sentence"]))
        if names := [*awaited_signals(thread)]:
            return ReasonRow("signal", message, thread.status_since, facts={"signals": names})
        return ReasonRow("wake", message, thread.status_since)
    return ReasonRow(
        "wake",
        "Nothing is open now; a worker's next sweep continues it.",
        thread.status_since,
    )


def awaited_signals(thread: ThreadRow) -> dict[str, Any]:
    """{name: JSON Schema or None} of the signals that a thread waits for now."""
    waits = thread.waiting_on if isinstance(thread.waiting_on, dict) else {}
    signals = waits.get("signals")
    return dict(signals) if isinstance(signals, dict) else {}


def _for_children(thread: ThreadRow, awaited: Awaited) -> ReasonRow:
    """Whom it waits for, and whether one of them waits for a person."""
    joins = thread.waiting_on.get("joins") if isinstance(thread.waiting_on, dict) else None
    first = joins[0] if joins and len(joins) == 1 else {}
    need, of = first.get("need"), first.get("of")
    children = "child" if awaited.n == 1 else "children"
    message = f"Waiting for {awaited.open} of {awaited.n} {children}"
    if need is not None and need != of:
        succeeded = f"{awaited.succeeded} {'has' if awaited.succeeded == 1 else 'have'}"
        message = f"Waiting until {need} of {of} children succeed: {succeeded}"
    stuck = sum(awaited.statuses.get(status, 0) for status in (Status.ATTENTION, Status.PAUSED))
    decide = awaited.statuses.get(Status.WAITING, 0) - awaited.held
    action = ""
    if stuck:
        action = f"{stuck} of them {'needs' if stuck == 1 else 'need'} a person to continue."
    elif decide and decide == awaited.open:
        action = "All of them are waiting too."
    facts = {
        "open": awaited.open,
        "of": awaited.n,
        "succeeded": awaited.succeeded,
        "statuses": {str(status): n for status, n in awaited.statuses.items()},
        **({"held": awaited.held} if awaited.held else {}),
    }
    return ReasonRow("children", f"{message}.", thread.status_since, action, facts)


def _sleeping(thread: ThreadRow, workers: Sequence[WorkerRow], now: datetime) -> ReasonRow:
    if thread.wake_at is not None and thread.wake_at > now:
        message = thread.status_reason.rstrip(".")
        return ReasonRow(
            "timer",
            # "attempt 3 of 5 at ...", "waits with all others until ..."
            f"{message or 'Sleeps'} {'at' if message[-1:].isdigit() else 'until'} "
            f"{_time(thread.wake_at)}.",
            thread.status_since,
            facts={"wake_at": thread.wake_at.isoformat()},
        )
    return _no_worker(thread, workers) or ReasonRow(
        "timer", "Its timer is due; a worker resumes it within seconds.", thread.status_since
    )


def _attention(thread: ThreadRow) -> ReasonRow:
    message = sentence(thread.status_reason or "The engine can't continue without a person")
    request = question_of(thread.status, thread.waiting_on)
    if request is None:
        action = f"Read the reason. {EDIT_FIRST} or roll back."
        kind = thread.waiting_on.get("kind") if isinstance(thread.waiting_on, dict) else ""
        if kind == "code":
            action = "Choose which version of the code continues it."
        elif kind == "history":
            action = "Verify the record, restore what was altered from a backup, then retry."
        elif kind == "steps":
            action = "Retry to let it take as many steps again, or cancel it."
        return ReasonRow("attention", message, thread.status_since, action)
    facts = {"asks": request.kind, "activity": str(request.activity)}
    if request.kind == "unknown":
        return ReasonRow(
            "attention", message, thread.status_since, "Say whether it happened.", facts
        )
    return ReasonRow(
        "attention",
        message,
        thread.status_since,
        "Say whether its outcome still holds.",
        facts | {"args": request.args},
    )


def _paused(thread: ThreadRow, approvals: Sequence[OpenRequest]) -> ReasonRow:
    message = (thread.status_reason or "Paused").rstrip(".")
    if thread.next_nodes:
        message += f"; next is {_nodes(thread)}"
    if approvals:
        number = len(approvals)
        message += f"; {number} request{'s' if number > 1 else ''} can be decided meanwhile"
    return ReasonRow("paused", sentence(message), thread.status_since, "Resume it.")


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
