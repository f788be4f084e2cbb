"""What an undo of a whole thread takes back, where it leads, and which undos have failed so far."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ..errors import NotFound
from ..views import ActivityRow, CheckpointRow, EffectFate
from .activities import ACTIVITY, activity_of, effects_behind
from .past import CHECKPOINT, branch_ranges, checkpoint_by_number, checkpoint_of
from .rows import rows


def effects_of(thread_id: UUID) -> list[EffectFate]:
    """List the effects of a thread on the path to its head, last first; without those of its base.

    Empty for a thread whose first checkpoint was deleted: its path is unknown.
    """
    try:
        first = checkpoint_by_number(thread_id, 0)
    except NotFound:
        return []
    return effects_behind(first)


def effects_left(thread_id: UUID, on_way: Sequence[EffectFate]) -> list[EffectFate]:
    """List the effects on branches that rollbacks left, and those that stayed done, last first.

    `on_way` are those of `effects_of`. No undo of the thread takes the others back.
    """
    result = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid AND kind = 'effect' "
        "AND state IN ('done', 'started', 'unknown') AND NOT id = ANY(%s::uuid[]) "
        "ORDER BY branch DESC, step DESC, started_at DESC, id DESC",
        (thread_id, [fate.activity.id for fate in on_way]),
    )
    return [_left(activity_of(row)) for row in result]


def _left(activity: ActivityRow) -> EffectFate:
    if activity.state == "done":
        return EffectFate(activity, "stays", "done before a rollback and left done; it stays done")
    return EffectFate(
        activity, "unknown", "had started before a rollback; nobody knows whether it happened"
    )


def checkpoint_before(activity: ActivityRow) -> CheckpointRow:
    """The newest checkpoint, on the way to the head, that knows nothing of an activity on it."""
    thread = activity.thread
    head = rows("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread,))[0][0]
    for owner, branch, lo, hi, _ in branch_ranges(thread, head):
        if owner == thread and branch == activity.branch:
            result = rows(
                CHECKPOINT.format(delta="NULL", abandoned="false") + "WHERE c.thread_id = %s::uuid "
                "AND c.number BETWEEN %s::integer AND %s::integer AND c.step < %s::integer "
                "ORDER BY c.number DESC LIMIT 1",
                (thread, lo, hi, activity.step),
            )
            return checkpoint_of(result[0])
    raise NotFound("This activity does not lie on the way to the thread's head.")


def undo_failures(thread_id: UUID) -> dict[str, tuple[int, str]]:
    """{effect: (how often its undo failed, the last error)} since the undo was wanted last."""
    result = rows(
        "SELECT data ->> 'activity', count(*), "
        "(array_agg(data ->> 'error' ORDER BY seq DESC))[1] FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'compensation.failed' AND seq > coalesce(("
        "SELECT seq FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind IN ('rollback.started', 'rollback.retried') ORDER BY seq DESC LIMIT 1), 0) "
        "GROUP BY 1",
        (thread_id, thread_id),
    )
    return {effect: (count, error or "") for effect, count, error in result}


def undone_last(thread_id: UUID) -> list[ActivityRow]:
    """List the effects that the last undo of a thread took back, in the order of the undo."""
    result = rows(
        "SELECT (data ->> 'activity')::uuid FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'compensation.finished' AND seq > coalesce(("
        "SELECT max(seq) FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind = 'rollback.started'), 0) ORDER BY seq",
        (thread_id, thread_id),
    )
    ids = [row[0] for row in result]
    undone = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid AND id = ANY(%s::uuid[])", (thread_id, ids)
    )
    by_id = {one.id: one for one in map(activity_of, undone)}
    return [by_id[ident] for ident in ids]
