"""Carry out what people want of a whole tree: pause, resume or cancel each thread of it."""

from __future__ import annotations

from uuid import UUID

from approvals import gates
from checkpoints import queries, store, undo
from checkpoints.errors import NotAllowedNow
from checkpoints.postgres.guarded_rows import handle_rows
from checkpoints.states import CANCELLABLE, FINISHED, Status

CANCELLED = "The thread that started it was cancelled or rolled back."


def carry_out() -> int:
    """Each verb on the threads that it has to reach now, one transaction each; how many."""
    return handle_rows("reached", store.reached(), _reach)


def _reach(row: tuple[UUID, UUID, str]) -> bool:
    thread, _, ref = row
    number = store.forget_reach(thread, ref)
    if not number:
        return False
    verb, _, actor = ref.partition(" ")
    if verb == store.STOOD:
        return _look_again(thread, actor)
    try:
        if verb == "resume":  # of one that is held back, and was to pause once it begins
            store.take_pause(thread, before=number)
        _perform(thread, verb, actor)
    except NotAllowedNow:
        # It ended, or stands there already; its successor is reached all the same.
        store.reach_successor(thread, verb, actor=actor)
    store.reach_children(thread, verb, actor=actor)
    return True


def _look_again(thread: UUID, actor: str) -> bool:
    """Reach what a thread has started since it was asked to pause; False: it was resumed since."""
    _, status, wish = queries.place_of(thread)
    if wish == "pause" and status not in FINISHED:
        store.pause(thread, actor=actor)  # it waits: nobody else would let it stand
    elif status is not Status.PAUSED and status not in FINISHED:
        return False
    store.reach_children(thread, "pause", actor=actor)
    return True


def _perform(thread: UUID, verb: str, actor: str) -> None:
    match verb:
        case "pause":
            store.pause(thread, actor=actor)
        case "resume":
            store.resume(thread, actor=actor)
        case "cancel":
            _cancel(thread, actor)
        case "undo":
            if not _undo(thread, actor):
                _cancel(thread, actor)


def _cancel(thread: UUID, actor: str) -> None:
    gates.withdraw_open(thread, reason=CANCELLED, actor=actor)
    store.cancel(thread, actor=actor, reason=CANCELLED)


def _undo(thread: UUID, actor: str) -> bool:
    """Cancel a thread by way of undoing what it did; False: there is nothing to undo."""
    gates.withdraw_open(thread, reason=CANCELLED, actor=actor)
    fates = queries.effects_of(thread)
    chosen = undo.chosen(fates)
    head, status, _ = queries.place_of(thread)
    if not chosen or status not in CANCELLABLE - {Status.FAILED}:
        return False
    target = queries.checkpoint_before(chosen[-1].activity)
    left = queries.effects_left(thread, fates)
    plan = undo.plan_back_to(
        target, fates, left=left, reason=CANCELLED, by=actor, then=undo.CANCELLED
    )
    store.cancel_and_undo(thread, plan=plan, head=head)
    return True
