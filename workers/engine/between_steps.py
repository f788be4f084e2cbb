"""Reasons to leave a thread between two steps: a wish, its end, its budget, the worker's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from checkpoints.records import Work
from checkpoints.states import EventKind
from checkpoints.store import paused_by_person

from ..authoring.graph import Graph
from ..step.ledger import Ledger


def leave_if_due(
    work: Work,
    graph: Graph,
    ledger: Ledger,
    *,
    worker_stops: Callable[[], bool],
    slice_is_over: bool,
) -> bool:
    """Leave the thread before its next step where people, its end or the worker want it."""
    if obey_wish(work, graph.joins.ready, ledger):
        return True
    if not work.next_nodes:
        # A fork of the end: what there was to do is done.
        ledger.leave(work, EventKind.THREAD_SUCCEEDED)
    elif why := ledger.over_budget(work):
        ledger.leave(work, EventKind.THREAD_PAUSED, reason=why, data={"cap": True})
    elif worker_stops():
        ledger.hand_back(work, why_handed_back(work))
    elif slice_is_over:
        ledger.hand_back(work, "the time slice is over")
    else:
        return False
    return True


def obey_wish(
    work: Work, ready: Callable[[Sequence[str]], Collection[str]], ledger: Ledger
) -> bool:
    """Leave the thread where a person or a breaker wants it, or before one of the nodes to come.

    `ready` answers which of the next nodes work now.

    A person pauses it. A breaker has it given back: it stays queued until it is released.
    """
    if work.wish == "pause":
        by, why = {"by": work.wish_by}, paused_by_person(ledger.pause_reason(work))
        ledger.leave(work, EventKind.THREAD_PAUSED, reason=why, data=by)
    elif work.is_stopped and work.next_nodes:
        ledger.hand_back(work, why_handed_back(work))
    elif work.pause_at and work.pause_at in ready(work.next_nodes):
        ledger.leave(work, EventKind.THREAD_PAUSED, reason=_paused_before(work, ledger))
    else:
        return False
    return True


def _paused_before(work: Work, ledger: Ledger) -> str:
    why = ledger.pause_reason(work)
    return f"Paused before {work.pause_at}" + (f": {why}" if why else "")


def why_handed_back(work: Work) -> str:
    """The reason that the event states, where a thread is left in the middle of its course."""
    return "a breaker stops it" if work.is_stopped else "the worker stops"
