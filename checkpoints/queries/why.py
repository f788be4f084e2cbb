"""Why a thread stands still, in one sentence: one explanation for page, API and `doctor`; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

from ..states import Status
from ..verdicts import question_of
from ..views import ThreadRow, Why, WorkerRow


class OpenRequest(Protocol):
    """What is needed of a request for approval; the floor above has the whole of it.

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
    now: datetime | None = None,
) -> Why:
    """Explain any standstill from the row, its open requests and the workers as they are seen.

    Kinds: working, pause, lease, gate, wake, timer, queue, no_worker, no_code, paused, attention,
    failed, finished. `action` says what a person can do, empty where nothing is needed.
    """
    clock = now or datetime.now(UTC)
    match thread.status:
        case Status.RUNNING | Status.ROLLING_BACK:
            return _leased(thread, workers, clock)
        case Status.QUEUED:
            return _queued(thread, workers)
        case Status.WAITING:
            return _waiting(thread, approvals)
        case Status.SLEEPING:
            return _sleeping(thread, workers, clock)
        case Status.PAUSED:
            return _paused(thread, approvals)
        case Status.ATTENTION if _half_undone(thread):
            return Why(
                "attention",
                sentence(thread.status_reason),
                thread.status_since,
                "Fix what keeps the undo from working, then retry: it continues with exactly "
                "these. Or undo them manually and roll back without undo, or cancel.",
            )
        case Status.ATTENTION:
            return _attention(thread)
        case Status.FAILED:
            return Why(
                "failed",
                sentence(thread.status_reason or "A step failed"),
                thread.status_since,
                "Edit the state where needed, then retry.",
            )
    said = thread.status_reason or f"The thread has {thread.status}"
    if thread.status is Status.CANCELLED:
        said, check = "The thread was cancelled", ""
        if thread.status_reason:
            said = f"{said}. {thread.status_reason}"
        if thread.status_reason.endswith("is unknown."):
            check = "Check outside whether it happened."
        return Why("finished", sentence(said), thread.status_since, check)
    return Why("finished", sentence(said), thread.status_since)


def _half_undone(thread: ThreadRow) -> bool:
    waits = thread.waiting_on
    return isinstance(waits, dict) and waits.get("kind") == "undo"


def _nodes(thread: ThreadRow) -> str:
    return ", ".join(thread.next_nodes) or "the end"


def sentence(text: str) -> str:
    """Text that ends like a sentence."""
    stripped = " ".join(text.split())
    return stripped if stripped.endswith((".", "!", "?", "…")) else f"{stripped}."


def _no_worker(thread: ThreadRow, workers: Sequence[WorkerRow]) -> Why | None:
    """Why no worker can take the thread, or None where one can."""
    alive = [w for w in workers if w.alive]
    if not alive:
        seen = max((w.seen_at for w in workers), default=None)
        return Why(
            "no_worker",
            "No worker is running."
            if seen is None
            else f"No worker is running; the last one was seen at {_time(seen)}.",
            thread.status_since,
            "Start a worker.",
            {"workers": 0, "seen_at": None if seen is None else seen.isoformat()},
        )
    if not any(str(thread.agent_version_id) in w.agents for w in alive):
        return Why(
            "no_code",
            f"No running worker has this code of {thread.agent} (version {thread.version_label}).",
            thread.status_since,
            "Start a worker with this version of the agent.",
            {"workers": len(alive)},
        )
    return None


def _queued(thread: ThreadRow, workers: Sequence[WorkerRow]) -> Why:
    alive = [w for w in workers if w.alive]
    if thread.pinned and not any(str(thread.agent_version_id) in w.agents for w in alive):
        return Why(
            "no_code",
            "Pinned to the code it stopped with, which no running worker has: "
            f"{thread.agent}, version {thread.version_label}.",
            thread.status_since,
            "Start a worker with that code, or choose other code for it.",
            {"workers": len(alive)},
        )
    return _no_worker(thread, workers) or Why(
        "queue",
        f"Waiting for a free worker; next is {_nodes(thread)}.",
        thread.status_since,
        facts={"workers": sum(w.alive for w in workers)},
    )


def _leased(thread: ThreadRow, workers: Sequence[WorkerRow], now: datetime) -> Why:
    undoing = thread.status is Status.ROLLING_BACK
    if not thread.lease_owner:
        if thread.wake_at is not None and thread.wake_at > now:
            return Why(
                "timer",
                f"An undo failed; it is tried again at {_time(thread.wake_at)}.",
                thread.status_since,
                facts={"wake_at": thread.wake_at.isoformat()},
            )
        lost = _no_worker(thread, workers)
        return lost or Why("queue", "Waiting for a worker to undo effects.", thread.status_since)
    facts = {"owner": thread.lease_owner, "fence": thread.fence}
    if thread.lease_until is not None and thread.lease_until < now:
        return _no_worker(thread, workers) or Why(
            "lease",
            f"Its worker has been silent; the lease ran out at {_time(thread.lease_until)} "
            "and another worker will take over.",
            thread.lease_until,
            facts=facts,
        )
    if undoing:
        said = "A worker is undoing effects."
        return Why("working", said, thread.status_since, facts=facts)
    if thread.wish == "pause":
        said = f"Working on {_nodes(thread)}; pauses after this step."
        return Why("pause", said, thread.status_since, facts=facts)
    return Why("working", f"Working on {_nodes(thread)}.", thread.status_since, facts=facts)


def _waiting(thread: ThreadRow, approvals: Sequence[OpenRequest]) -> Why:
    if approvals:
        first = min(approvals, key=lambda a: a.requested_at)
        many = f" and {len(approvals) - 1} more" if len(approvals) > 1 else ""
        until = f"; it expires at {_time(first.decide_by)}" if first.decide_by else ""
        return Why(
            "gate",
            sentence(f"Waiting for a decision: {first.headline.rstrip('.')}{many}{until}"),
            first.requested_at,
            "A reviewer decides.",
            {"approvals": [str(a.id) for a in approvals]},
        )
    if isinstance(thread.waiting_on, dict) and thread.waiting_on.get("sentence"):
        return Why("wake", sentence(str(thread.waiting_on["sentence"])), thread.status_since)
    return Why(
        "wake",
        "Nothing is open any more; it continues with a worker's next sweep.",
        thread.status_since,
    )


def _sleeping(thread: ThreadRow, workers: Sequence[WorkerRow], now: datetime) -> Why:
    if thread.wake_at is not None and thread.wake_at > now:
        said = thread.status_reason.rstrip(".")
        return Why(
            "timer",
            # "attempt 3 of 5 at ...", "waits with all others until ..."
            f"{said or 'Sleeps'} {'at' if said[-1:].isdigit() else 'until'} "
            f"{_time(thread.wake_at)}.",
            thread.status_since,
            facts={"wake_at": thread.wake_at.isoformat()},
        )
    return _no_worker(thread, workers) or Why(
        "timer", "Its time has come; a worker wakes it within seconds.", thread.status_since
    )


def _attention(thread: ThreadRow) -> Why:
    said = sentence(thread.status_reason or "The engine can't continue without a person")
    asked = question_of(thread.status, thread.waiting_on)
    if asked is None:
        action = "Read the reason, edit the state where needed, then retry or roll back."
        kind = thread.waiting_on.get("kind") if isinstance(thread.waiting_on, dict) else ""
        if kind == "code":
            action = "Choose which version of the code continues it."
        elif kind == "history":
            action = "Verify the record, restore what was altered from a backup, then retry."
        return Why("attention", said, thread.status_since, action)
    facts = {"asks": asked.kind, "activity": str(asked.activity)}
    if asked.kind == "unknown":
        return Why("attention", said, thread.status_since, "Say whether it happened.", facts)
    return Why(
        "attention",
        said,
        thread.status_since,
        "Say whether its outcome holds.",
        facts | {"args": asked.args},
    )


def _paused(thread: ThreadRow, approvals: Sequence[OpenRequest]) -> Why:
    said = (thread.status_reason or "Paused").rstrip(".")
    if thread.next_nodes:
        said += f"; next is {_nodes(thread)}"
    if approvals:
        number = len(approvals)
        said += f"; {number} request{'s' if number > 1 else ''} can be decided meanwhile"
    return Why("paused", sentence(said), thread.status_since, "Resume it.")


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
