"""Activities: save points, what a step has recorded, what a rollback would undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from ..errors import NotFound
from ..names import is_faulty_key
from ..postgres import reads as prepared
from ..postgres.named_rows import fetch_named
from ..tables import columns as tables
from ..tables.readers import Reader
from ..views import ActivityRow, CheckpointRow, EffectFate, ThreadRow
from .past import branch_ranges, checkpoint
from .rows import rows

activity_of = Reader(
    ActivityRow,
    tables.ACTIVITY,
    sql={
        "thread": "thread_id",
        "approval": "approval_id",
        "salt": "CASE WHEN cursor IS NOT NULL THEN salt END",
    },
    decode={"salt": lambda value: None if value is None else bytes(value)},
)
COLUMNS = activity_of.select
ACTIVITY = f"SELECT {COLUMNS} FROM gp_activity "
# Answered by the index gp_activity_unpriced.
_UNPRICED = "SELECT count(*) FROM gp_activity WHERE thread_id = %s::uuid AND usage ? 'unpriced'"
_AT_STEP = (
    ACTIVITY + "WHERE thread_id = %s::uuid AND branch = %s::integer AND step = %s::integer "
    "ORDER BY started_at, revision"
)

_EFFECTS_BEFORE = (
    ACTIVITY + "WHERE thread_id = %s::uuid AND branch = %s::integer AND step = %s::integer "
    "AND node = %s::varchar AND kind = 'effect' AND started_at < %s::timestamptz "
    "ORDER BY started_at, revision LIMIT %s"
)

# With the effects of other steps that began and were never settled: answered by the index
# gp_activity_open, whatever the length of the thread.
_AT_NEXT_STEP = (
    f"SELECT {COLUMNS} FROM (SELECT x.* FROM gp_activity x WHERE (x.thread_id, x.branch, x.step) = "
    "(SELECT th.id, th.branch, th.step + 1 FROM gp_thread th WHERE th.id = %s::uuid) "
    "UNION ALL SELECT x.* FROM gp_thread th JOIN gp_activity x ON x.thread_id = th.id "
    "WHERE th.id = %s::uuid AND x.kind = 'effect' AND x.state = 'started' "
    "AND (x.branch, x.step) <> (th.branch, th.step + 1)) gp_activity ORDER BY started_at, revision"
)

_UNSETTLED = (
    "SELECT u.id, u.tool, u.state, u.earlier FROM (SELECT a.id, a.tool, a.state, a.started_at, "
    "false AS earlier FROM gp_thread th JOIN gp_activity a "
    "ON a.thread_id = th.id AND a.branch = th.branch AND a.step = th.step + 1 "
    "WHERE th.id = %s::uuid AND a.kind = 'effect' AND a.state IN ('started', 'unknown') "
    "UNION ALL SELECT a.id, a.tool, a.state, a.started_at, true FROM gp_thread th "
    "JOIN gp_activity a ON a.thread_id = th.id WHERE th.id = %s::uuid AND a.kind = 'effect' "
    "AND a.state = 'started' AND (a.branch, a.step) <> (th.branch, th.step + 1)) u "
    "ORDER BY u.started_at, u.id"
)

_BEFORE_SKIP = (
    "SELECT th.status, th.branch, th.step, th.next_nodes ? %s::text AS is_next, "
    "CASE WHEN th.rollback IS NULL THEN coalesce(th.waiting_on ->> 'kind', '') ELSE 'rollback' END "
    "AS stopped_for, coalesce(bool_or(a.kind = 'node' AND a.state = 'done'), FALSE) AS finished, "
    "coalesce(string_agg(a.tool, ', ') FILTER (WHERE a.kind = 'effect' "
    "AND a.state IN ('started', 'unknown')), '') AS unknown "
    "FROM gp_thread th LEFT JOIN gp_activity a ON a.thread_id = th.id AND a.branch = th.branch "
    "AND a.step = th.step + 1 AND a.node = %s::varchar WHERE th.id = %s::uuid GROUP BY th.id"
)


_TROUBLED = "AND (state IN ('failed', 'unknown') OR attempts > 1 OR error <> '') "
_NEWEST_FIRST = (
    "AND (%s::uuid IS NULL OR (branch, step, started_at, id) < (SELECT x.branch, x.step, "
    "x.started_at, x.id FROM gp_activity x WHERE x.id = %s::uuid)) "
    "ORDER BY branch DESC, step DESC, started_at DESC, id DESC LIMIT %s"
)


def activities(
    thread_id: UUID, *, limit: int = 200, before: UUID | None = None
) -> list[ActivityRow]:
    """Save points of the thread, newest first; those older than another with `before`."""
    result = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid " + _NEWEST_FIRST,
        (thread_id, before, before, limit),
    )
    return [activity_of(r) for r in result]


def troubled_activities(
    thread_id: UUID, *, limit: int = 200, before: UUID | None = None
) -> list[ActivityRow]:
    """Those that failed, are unknown or took several attempts, newest first."""
    result = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid " + _TROUBLED + _NEWEST_FIRST,
        (thread_id, before, before, limit),
    )
    return [activity_of(r) for r in result]


def activities_until(
    thread_id: UUID,
    checkpoint_id: UUID,
    *,
    limit: int = 200,
    before: UUID | None = None,
    troubled: bool = False,
) -> list[ActivityRow]:
    """Save points on the thread's own way to a checkpoint, newest first; all or `troubled` ones."""
    own = [(branch, step) for owner, branch, *_, step in branch_ranges(thread_id, checkpoint_id)
           if owner == thread_id]  # fmt: skip
    branches, steps = [branch for branch, _ in own], [step for _, step in own]
    result = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid AND EXISTS (SELECT FROM unnest(%s::integer[], "
        "%s::integer[]) own (b, s) WHERE branch = own.b AND step <= own.s) "
        + (_TROUBLED if troubled else "")
        + _NEWEST_FIRST,
        (thread_id, branches, steps, before, before, limit),
    )
    return [activity_of(r) for r in result]


def activity(activity_id: UUID) -> ActivityRow:
    """One activity; raises NotFound."""
    result = rows(ACTIVITY + "WHERE id = %s::uuid", (activity_id,))
    if not result:
        raise NotFound("There is no such activity.")
    return activity_of(result[0])


def activity_under(approval: UUID) -> ActivityRow | None:
    """The effect that was carried out under a request; None where none was."""
    result = rows(ACTIVITY + "WHERE approval_id = %s::uuid", (approval,))
    return activity_of(result[0]) if result else None


def has_faulty_keys(thread_id: UUID) -> bool:
    """Say whether the record has keys that are no names, from before the rule about them.

    A fork continues like the threads whose past it shares.
    """
    result = rows(
        "WITH RECURSIVE past AS (SELECT id, base FROM gp_thread WHERE id = %s::uuid UNION "
        "SELECT th.id, th.base FROM gp_thread th JOIN past ON th.id = past.base) "
        "SELECT DISTINCT a.key FROM gp_activity a JOIN past ON a.thread_id = past.id "
        "WHERE a.key !~ '^[!-~]([ -~]*[!-~])?$' LIMIT 1000",
        (thread_id,),
    )
    return any(is_faulty_key(key) for (key,) in result)


def next_step_asked(thread_id: UUID) -> prepared.Query:
    """The query of `step_activities` for the step after the thread's current head.

    With the effects of other steps that began and were never settled.
    """
    return _AT_NEXT_STEP, (thread_id, thread_id)


def step_activities(
    thread_id: UUID, *, branch: int, step: int, rows: Sequence[Any] | None = None
) -> list[ActivityRow]:
    """List the activities of one step, oldest first, newest revision of a position last.

    `rows` is the result of `next_step_asked`, if the caller has it.
    """
    if rows is None:
        rows = prepared.fetch(_AT_STEP, (thread_id, branch, step))
    return [activity_of(r) for r in rows]


class UnsettledEffect(NamedTuple):
    """An effect that has begun, or of which nobody knows the outcome.

    `earlier`: of another step than that in progress, where it can only have begun.
    """

    id: UUID
    tool: str
    state: str
    earlier: bool


def unsettled_query(thread_id: UUID) -> prepared.Query:
    """The query of `unsettled_effects`."""
    return _UNSETTLED, (thread_id, thread_id)


def unsettled_effects(thread_id: UUID, rows: Sequence[Any] | None = None) -> list[UnsettledEffect]:
    """List the effects of the step in progress that are started or unknown, oldest first.

    With those of earlier steps that began and were never settled.

    `rows` is the result of `unsettled_query`, if the caller has it.
    """
    if rows is None:
        rows = prepared.fetch(*unsettled_query(thread_id))
    return [UnsettledEffect(*row) for row in rows]


def effects_before(
    thread_id: UUID, *, branch: int, step: int, node: str, at: datetime, limit: int
) -> list[ActivityRow]:
    """List the effects that a node had begun in one step before a time, oldest first."""
    params = (thread_id, branch, step, node, at, limit)
    return [activity_of(r) for r in prepared.fetch(_EFFECTS_BEFORE, params)]


def before_skip(thread_id: UUID, node: str) -> Any:
    """Read what a skip of a node of the present step has to respect; raises NotFound.

    Columns: status, branch, step, is_next, stopped_for (the kind of what the thread asks),
    finished, unknown (tools of its effects whose outcome is unknown).
    """
    result = fetch_named(_BEFORE_SKIP, (node, node, thread_id))
    if not result:
        raise NotFound("There is no such thread.")
    return result[0]


def activities_after(
    thread_id: UUID, checkpoints: Sequence[CheckpointRow]
) -> dict[UUID, list[ActivityRow]]:
    """The records of the step after each of these checkpoints, oldest first; one query."""
    steps = [(row.branch, row.step + 1) for row in checkpoints]
    result = rows(
        ACTIVITY + "WHERE thread_id = %s::uuid AND (branch, step) IN "
        "(SELECT * FROM unnest(%s::integer[], %s::integer[])) ORDER BY started_at, revision",
        (thread_id, [branch for branch, _ in steps], [step for _, step in steps]),
    )
    by_step: dict[tuple[int, int], list[ActivityRow]] = {}
    for row in map(activity_of, result):
        by_step.setdefault((row.branch, row.step), []).append(row)
    return {row.id: by_step.get(at, []) for row, at in zip(checkpoints, steps, strict=True)}


def effects_after(thread_id: UUID, checkpoint_id: UUID) -> list[EffectFate]:
    """List the effects between a checkpoint and the head, last first, each with its fate."""
    return effects_behind(checkpoint(thread_id, checkpoint_id))


def effects_behind(target: CheckpointRow) -> list[EffectFate]:
    """`effects_after` a checkpoint that is read already."""
    thread_id = target.thread
    head = rows("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread_id,))[0][0]
    activities: list[ActivityRow] = []
    for i, (owner, branch, lo, hi, hi_step) in enumerate(branch_ranges(thread_id, head)):
        if owner != thread_id:
            break
        here = lo <= target.number <= hi
        # The step in progress stands one above the head's own.
        top = hi_step + 1 if i == 0 else hi_step
        raw = rows(
            ACTIVITY + "WHERE thread_id = %s::uuid AND branch = %s::integer "
            "AND step > %s::integer AND step <= %s::integer AND kind = 'effect' "
            "AND state IN ('done', 'started', 'unknown') "
            "ORDER BY step DESC, started_at DESC, id DESC",
            (thread_id, branch, target.step if here else -1, top),
        )
        activities += [activity_of(r) for r in raw]
        if here:
            break
    return [fate_of(a) for a in activities]


def fate_of(a: ActivityRow) -> EffectFate:
    """Predict from its record alone what a rollback would do about this effect."""
    if a.state != "done":
        return EffectFate(a, "unknown", "had started; nobody knows yet whether it happened")
    if a.undo:
        return EffectFate(a, "undoable", f"will be undone by {a.undo}")
    return EffectFate(a, "stays", "cannot be undone and stays done")


def usage_by_step(thread_id: UUID, since: int) -> dict[tuple[int, int], dict[str, Any]]:
    """{(branch, step): tokens and cost of its calls} of the steps from number `since` on.

    Of the calls that the totals of the thread count: not of effects.
    """
    result = rows(
        "SELECT branch, step, sum((usage ->> 'tokens')::bigint), sum((usage ->> 'cost')::numeric) "
        "FROM gp_activity WHERE thread_id = %s::uuid AND step >= %s::integer AND kind <> 'effect' "
        "AND (usage ->> 'tokens' IS NOT NULL OR usage ->> 'cost' IS NOT NULL) GROUP BY 1, 2",
        (thread_id, since),
    )
    return {
        (branch, step): {
            name: value
            for name, value in (
                ("tokens", tokens and int(tokens)),
                ("cost", cost and f"{cost.normalize():f}"),
            )
            if value
        }
        for branch, step, tokens, cost in result
    }


def unpriced_calls(thread: ThreadRow) -> int:
    """Count a thread's model calls that are in no sum, because their price is unknown."""
    if not thread.tokens:
        return 0
    ((count,),) = rows(_UNPRICED, (thread.id,))
    return int(count)
