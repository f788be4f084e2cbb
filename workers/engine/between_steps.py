"""Reasons to leave a thread between two steps: a wish, its end, a pause, the worker's own."""

from __future__ import annotations

from collections.abc import Callable, Collection

from checkpoints.records import Work
from checkpoints.states import EventKind

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
    if pause_if_due(work, graph.joins.ready(work.next_nodes), ledger):
        return True
    if not work.next_nodes:
        # A fork of the end: what there was to do is done.
        ledger.leave(work, EventKind.THREAD_SUCCEEDED)
    elif worker_stops():
        ledger.hand_back(work, "the worker stops")
    elif slice_is_over:
        ledger.hand_back(work, "the time slice is over")
    else:
        return False
    return True


def pause_if_due(work: Work, ready: Collection[str], ledger: Ledger) -> bool:
    """Pause the thread where a person wants it, now or before one of the nodes to come."""
    if work.wish == "pause":
        by = {"by": work.wish_by}
        ledger.leave(work, EventKind.THREAD_PAUSED, reason="Paused by a person", data=by)
    elif work.pause_at and work.pause_at in ready:
        ledger.leave(work, EventKind.THREAD_PAUSED, reason=f"Paused before {work.pause_at}")
    else:
        return False
    return True
