"""Actions of people on a thread as it stands: pause, resume, retry, skip, cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from ..errors import NotAllowedNow, StaleVersion
from ..postgres.named_rows import fetch_named
from ..queries import savings
from ..queries.activities import before_skip
from ..queries.overview.fork_budgets import fork_budget
from ..records import NewActivity, Position
from ..states import CANCELLABLE, STOPS_AHEAD, EventKind, Status, sources, target
from ..views import SavedRow
from . import interrupted_effects
from .activities import NAMING_V, written_as
from .settled_streams import pass_stream, settle_stream
from .statement.guards import check_texts, in_statuses, refuse, versioned
from .statement.locks import lock_thread
from .statement.moves import Insert, Move, NewEvent, perform
from .steps import release

# No worker has the lease of these: they pause immediately.
IDLE = (Status.QUEUED, Status.WAITING, Status.SLEEPING)


def paused_by_person(reason: str) -> str:
    """The status reason of a thread that a person paused, with theirs if they named one."""
    return f"Paused by a person: {reason}" if reason else "Paused by a person"


def pause(
    thread: UUID,
    *,
    actor: str,
    before_node: str = "",
    reason: str = "",
    expected_version: int | None = None,
) -> str:
    """Stop a thread: immediately where nobody works on it, else at the next step ("requested").

    With `before_node` it continues, now or when it is resumed, and stops before that node; a worker
    that holds it sees that with its next commit. The event carries the person's `reason`. Returns
    "paused" or "requested".
    """
    why = {"reason": reason} if reason else {}
    if before_node:
        check_texts(before_node=before_node)
        ahead = versioned(Move(thread, in_statuses(STOPS_AHEAD)), expected_version)
        ahead.set("pause_at", before_node)
        ahead.events = [NewEvent(EventKind.PAUSE_REQUESTED, {"before": before_node, **why}, actor)]
        if perform(ahead) is None:
            refuse(thread, expected_version=expected_version, wanted="Pausing before a node")
        return "requested"
    for _ in range(3):  # The thread may change hands between the two looks.
        idle = Move(thread, in_statuses(IDLE))
        versioned(idle, expected_version)
        idle.to_status(Status.PAUSED, reason=paused_by_person(reason))
        idle.events = [NewEvent(EventKind.THREAD_PAUSED, why, actor)]
        if perform(idle) is not None:
            return "paused"
        busy = Move(thread, "th.status = 'running' AND th.wish <> 'pause'")
        versioned(busy, expected_version)
        busy.set("wish", "pause")
        busy.set("wish_by", actor)
        busy.events = [NewEvent(EventKind.PAUSE_REQUESTED, why, actor)]
        if perform(busy) is not None:
            return "requested"
        rows = fetch_named(
            "SELECT status, wish, version FROM gp_thread WHERE id = %s::uuid", (thread,)
        )
        if rows and expected_version not in (None, rows[0].version):
            break
        if rows and (rows[0].wish == "pause" or rows[0].status == Status.PAUSED):
            return "requested" if rows[0].wish else "paused"
    refuse(thread, expected_version=expected_version, wanted="Pausing")
    raise AssertionError("unreachable")


def rename(
    thread: UUID,
    *,
    title: str,
    actor: str,
    current: str | None = None,
    expected_version: int | None = None,
) -> None:
    """Give a thread another title, in any status; a worker that holds it continues.

    With `current` only while that is its title: raises StaleVersion where somebody was quicker.
    """
    check_texts(title=title)
    wanted = Move(thread) if current is None else Move(thread, "th.title = %s", (current,))
    move = versioned(wanted, expected_version)
    move.set("title", title)
    move.set("automatic_title", "")
    move.express("version", "th.version + 1")
    move.events = [NewEvent(EventKind.THREAD_RENAMED, {"title": title}, actor)]
    if perform(move) is not None:
        return
    [*now] = fetch_named(
        "SELECT title, version, status FROM gp_thread WHERE id = %s::uuid AND erasure IS NULL "
        "AND title <> coalesce(%s, title)",
        (thread, current),
    )
    if now:
        message = f"Somebody else has renamed this thread meanwhile: “{now[0].title}”."
        raise StaleVersion(message, version=now[0].version, status=now[0].status)
    refuse(thread, expected_version=expected_version, wanted="Renaming")


def move_up(thread: UUID, *, reason: str, actor: str, expected_version: int | None = None) -> None:
    """Make a queued thread the next of its workspace on its queue, before those moved up earlier.

    It loses that place with its next status.
    """
    move = versioned(Move(thread, in_statuses((Status.QUEUED,))), expected_version)
    # No earlier than its status: the clock may have stepped back since.
    move.express("moved_up_at", "greatest(clock_timestamp(), th.status_since)")
    move.express("version", "th.version + 1")
    move.events = [NewEvent(EventKind.THREAD_MOVED_UP, {"reason": reason}, actor)]
    if perform(move) is None:
        refuse(thread, expected_version=expected_version, wanted="Moving up")


# A rollback that parked before its end: its plan still stands in the row.
_UNDONE_HALF = "(th.status = 'attention' AND th.rollback IS NOT NULL)"


def _move_on(
    thread: UUID,
    by: EventKind,
    *,
    actor: str,
    expected_version: int | None,
    data: Mapping[str, Any] | None = None,
    guard: str = "TRUE",
    free: bool = False,
    saved: SavedRow | None = None,
    effects: Sequence[interrupted_effects.Underway] = (),
) -> bool:
    froms = sources(by)
    move = versioned(Move(thread, f"{in_statuses(froms)} AND {guard}"), expected_version)
    unknown = interrupted_effects.sentence([effect.tool for effect in effects])
    move.to_status(target(by, froms[0]), reason=unknown)
    # A person who retries a thread that stopped because its code changed, or that failed, accepts
    # the code that is there: most failures are retried when their code is mended.
    move.express(
        "wish",
        "CASE WHEN th.status = 'attention' AND th.waiting_on ->> 'kind' = 'code' "
        "OR th.status = 'failed' THEN 'accept' ELSE '' END",
    )
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    if free:
        release(move)
    if saved is not None:
        move.express("tokens_saved", "th.tokens_saved + %s::bigint", saved.tokens)
    if by is EventKind.THREAD_CANCELLED:
        move.express("rollback", "NULL")
    else:
        move.express("crash_count", "0")
    payload = {**(data or {}), **savings.as_json(saved), **interrupted_effects.as_json(effects)}
    move.events = [NewEvent(by, payload, actor)]
    why = "The thread was cancelled while this was under way; whether it happened is unknown."
    interrupted_effects.mark(move, effects, actor=actor, why=why)
    return perform(move) is not None


def resume(thread: UUID, *, actor: str, expected_version: int | None = None) -> None:
    """paused -> queued; a fork that is over its budget is granted it once more."""
    by = EventKind.THREAD_RESUMED
    fork = fork_budget(thread)
    data = {"budget": fork.granted_again()} if fork is not None and fork.why_over else None
    if not _move_on(thread, by, actor=actor, expected_version=expected_version, data=data):
        refuse(thread, expected_version=expected_version, wanted="Resuming")


def retry(thread: UUID, *, actor: str, expected_version: int | None = None) -> Status:
    """failed or attention -> queued, from the head; the status it has then.

    A thread whose rollback stopped half-way (its code was missing, its worker was lost) is not
    where its head says: attention -> rolling_back, and a worker continues to undo.
    """
    if retry_rollback(thread, actor=actor, expected_version=expected_version):
        return Status.ROLLING_BACK
    if not _move_on(
        thread,
        EventKind.THREAD_RETRIED,
        actor=actor,
        expected_version=expected_version,
        guard=f"NOT {_UNDONE_HALF}",
        saved=savings.work_before_retry(thread),
    ):
        refuse(thread, expected_version=expected_version, wanted="Retrying")
    return Status.QUEUED


def retry_rollback(thread: UUID, *, actor: str, expected_version: int | None = None) -> bool:
    """attention -> rolling_back where a rollback has not come to its end; False for any other."""
    return _move_on(
        thread,
        EventKind.ROLLBACK_RETRIED,
        actor=actor,
        expected_version=expected_version,
        guard=_UNDONE_HALF,
        free=True,
    )


def skip(
    thread: UUID, *, node: str, reason: str, actor: str, expected_version: int | None = None
) -> Status:
    """Record a node of the present step as finished with no update; the status afterwards.

    failed, attention, sleeping -> queued; a paused thread stays paused. The worker that takes it
    next merges what the other nodes of the step return and chooses the way on. Raises
    NotAllowedNow where the node is not the next, has finished, or has an effect of which nobody
    knows whether it happened.
    """
    with transaction.atomic():
        lock_thread(thread)
        row = before_skip(thread, node)
        status = Status(row.status)
        if status not in sources(EventKind.NODE_SKIPPED):
            refuse(thread, expected_version=expected_version, wanted="Skipping a node")
        if why := why_not_skipped(
            node,
            stopped_for=row.stopped_for,
            is_next=row.is_next,
            finished=row.finished,
            unknown=row.unknown,
        ):
            raise NotAllowedNow(why, status=status)
        _, insert, event = skipped(actor, node, branch=row.branch, step=row.step + 1, reason=reason)
        move = versioned(Move(thread, in_statuses((status,))), expected_version)
        after = target(EventKind.NODE_SKIPPED, status)
        if after is not status:
            move.to_status(after, reason="")
        move.express("waiting_on", "NULL")
        move.express("wake_at", "NULL")
        move.express("crash_count", "0")
        move.inserts = [insert]
        move.events = [event]
        moved = perform(move)
        if moved is None:
            refuse(thread, expected_version=expected_version, wanted="Skipping a node")
        return after


def skipped(
    actor: str, node: str, *, branch: int, step: int, reason: str
) -> tuple[NewActivity, Insert, NewEvent]:
    """The record of a node that a person went past: finished with no update; its row, its event."""
    activity = NewActivity(
        id=uuid7(),
        position=Position(branch, step, node, 0, "node"),
        kind="node",
        tool=node,
        args={},
        idempotency_key="",
    )
    row, named = written_as(activity, "done", {})
    event = NewEvent(EventKind.NODE_SKIPPED, {**named, "reason": reason}, actor, NAMING_V)
    return activity, row, event


def why_not_skipped(
    node: str, *, stopped_for: str, is_next: bool, finished: bool, unknown: str
) -> str:
    """Say why a person cannot go past a node; empty where they can.

    `stopped_for` is the kind of what the thread asks, `unknown` names effects of the node of which
    nobody knows whether they happened.
    """
    if stopped_for in ("code", "history", "rollback"):
        return "A node can't be skipped before what the thread stopped for is decided."
    if not is_next:
        return f"{node!r} is not a node of the present step."
    if finished:
        return f"{node!r} has finished in this step; its update is recorded."
    if unknown:
        return f"Whether {unknown} happened is unknown. Retry: the thread then asks for it."
    return ""


def cancel(
    thread: UUID, *, actor: str, reason: str = "", expected_version: int | None = None
) -> str:
    """Any unfinished status -> cancelled; takes the thread away from its worker.

    What it did stays done. While the hot store is away, what that holds is passed. Effects that
    had started and not ended are `unknown` now: says which, empty for none.
    """
    with transaction.atomic(savepoint=False):
        settled = settle_stream(thread, actor=actor, may_pass=True)
        effects = interrupted_effects.underway(thread)
        moved = _move_on(
            thread,
            EventKind.THREAD_CANCELLED,
            actor=actor,
            expected_version=expected_version,
            data={"reason": reason},
            guard=in_statuses(CANCELLABLE),
            free=True,
            effects=effects,
        )
        if moved and settled is not None and settled.is_unreachable:
            pass_stream(thread, actor=actor)
    if not moved:
        refuse(thread, expected_version=expected_version, wanted="Cancelling")
    return interrupted_effects.sentence([effect.tool for effect in effects])
