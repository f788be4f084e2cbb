"""The only reader for upper floors: frozen dataclasses from short, indexed statements.

Stored JSON is read as text through the one decoder. Lists page by keyset written as a row
comparison, never by OFFSET.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import jsonpatch
from django.db import connection

from . import deltas, history
from .errors import InvalidValue, NotFound
from .states import FINISHED, LIVE, Status
from .views import (
    ActivityRow,
    AgentRow,
    ArtifactRow,
    CheckpointRow,
    EffectFate,
    EventRow,
    Page,
    ThreadRow,
    WorkerRow,
)

WORKER_ALIVE_SECONDS = 15
COUNT_CAP = 10_000
STANDSTILL_SECONDS = 3
# Threads whose events come without a change of status; few enough to be summed up.
MOVING = (Status.QUEUED, Status.RUNNING, Status.PAUSED, Status.ATTENTION, Status.ROLLING_BACK)

_THREAD = """
SELECT th.id, th.workspace_id, th.name, th.title, th.agent, v.version::text, th.agent_version_id,
  th.labels::text, th.status, th.status_since, th.status_reason, th.version, th.last_seq,
  th.last_at, th.number, th.step, th.branch, th.next_nodes::text, th.waiting_on::text, th.wake_at,
  th.wish, th.pause_at, th.effects, th.lease_owner, th.lease_until, th.fence, th.crash_count,
  th.head, th.parent, th.base, th.forked_from, th.started_by, th.rollback::text, th.n_steps,
  th.tokens, trim_scale(th.cost)::text, th.tokens_saved, th.state_bytes, th.created_at
FROM gp_thread th JOIN gp_agent_version v ON v.id = th.agent_version_id
"""
_CHECKPOINT = """
SELECT c.id, c.thread_id, c.number, c.branch, c.step, c.parent, c.parent_thread, c.parent_number,
  c.source, c.nodes::text, c.next_nodes::text, {delta}, encode(c.state_hash, 'hex'),
  c.state_bytes, c.schema_version, c.agent_version_id, c.created_by, c.created_at
FROM gp_checkpoint c
"""
_EVENT = """
SELECT thread_id, seq, kind, actor, data::text, at, encode(hash, 'hex'), encode(prev_hash, 'hex')
FROM gp_event
"""
_ACTIVITY = """
SELECT id, thread_id, branch, step, node, index, key, kind, tool, state, args::text, result::text,
  error, attempts, idempotency_key, progress::text, usage::text, undo, undo_result::text,
  revision, approval_id, started_at, finished_at
FROM gp_activity
"""
_AGENT = """
SELECT v.id, v.agent, v.version, v.fingerprint, v.label, v.description, v.schema_version,
  v.schema::text, v.channels::text, v.graph::text, v.tools::text, v.queue, v.created_at,
  (SELECT count(*) FROM gp_worker w WHERE w.stopped_at IS NULL AND w.agents ? v.id::text
    AND w.seen_at > clock_timestamp() - make_interval(secs => %s))
FROM gp_agent_version v
"""


def _all(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _json(text: str | None) -> Any:
    return None if text is None else deltas.decode(text)


def _thread(r: tuple[Any, ...]) -> ThreadRow:
    return ThreadRow(*(*r[:7], _json(r[7]), Status(r[8]), *r[9:17], tuple(_json(r[17])), _json(r[18]),
        *r[19:32], _json(r[32]), *r[33:],))  # fmt: skip


def _checkpoint(r: tuple[Any, ...]) -> CheckpointRow:
    return CheckpointRow(
        *(
            *r[:9],
            tuple(_json(r[9])),
            tuple(_json(r[10])),
            _json(r[11]) or {},
            *r[12:],
        )
    )


def _event(r: tuple[Any, ...]) -> EventRow:
    return EventRow(
        *(
            *r[:4],
            _json(r[4]),
            *r[5:],
        )
    )


def _activity(r: tuple[Any, ...]) -> ActivityRow:
    return ActivityRow(*(*r[:10], _json(r[10]), _json(r[11]), *r[12:15], _json(r[15]), _json(r[16]), r[17],
        _json(r[18]), *r[19:],))  # fmt: skip


def _cursor_out(at: datetime, ident: UUID) -> str:
    return base64.urlsafe_b64encode(f"{at.isoformat()} {ident}".encode()).decode().rstrip("=")


def _cursor_in(cursor: str) -> tuple[datetime, UUID]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        at, ident = raw.split(" ")
        return datetime.fromisoformat(at), UUID(ident)
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidValue("cursor", "is not a cursor of this list") from error


def thread(thread_id: UUID, *, workspace: UUID) -> ThreadRow:
    """One thread; raises NotFound for unknown ids and those of other workspaces alike."""
    rows = _all(
        _THREAD + "WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid", (thread_id, workspace)
    )
    if not rows:
        raise NotFound("There is no such thread in this workspace.")
    return _thread(rows[0])


def _search(*, agent: str, q: str) -> tuple[list[str], list[Any]]:
    """Conditions on th.* for an agent's name and for text in the title or a begun id."""
    deltas.check(agent, "agent")
    deltas.check(q, "q")
    where: list[str] = []
    params: list[Any] = []
    if agent:
        where.append("th.agent = %s::varchar")
        params.append(agent)
    if q:
        where.append("(strpos(lower(th.title), lower(%s::text)) > 0 OR th.id::text LIKE %s::text)")
        escaped = q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        params += [q, f"%{escaped}%"]
    return where, params


def threads(
    *,
    workspace: UUID,
    statuses: Iterable[Status] = (),
    agent: str = "",
    q: str = "",
    label: tuple[str, str] | None = None,
    limit: int = 50,
    after: str = "",
) -> Page[ThreadRow]:
    """Threads by time of their last change of status, newest first."""
    where = ["th.workspace_id = %s::uuid"]
    params: list[Any] = [workspace]
    wanted = [str(s) for s in statuses]
    if wanted:
        where.append("th.status = ANY(%s::text[])")
        params.append(wanted)
    searched, values = _search(agent=agent, q=q)
    where += searched
    params += values
    if label:
        where.append("th.labels ->> %s::text = %s::text")
        params += label
    if after:
        where.append("(th.status_since, th.id) < (%s::timestamptz, %s::uuid)")
        params += _cursor_in(after)
    rows = _all(
        f"{_THREAD} WHERE {' AND '.join(where)} ORDER BY th.status_since DESC, th.id DESC LIMIT %s",
        (*params, limit + 1),
    )
    found = tuple(_thread(r) for r in rows[:limit])
    more = _cursor_out(found[-1].status_since, found[-1].id) if len(rows) > limit else ""
    return Page(found, more)


def lanes(
    *, workspace: UUID, statuses: Sequence[Status], agent: str = "", q: str = "", limit: int = 25
) -> dict[Status, list[ThreadRow]]:
    """The newest threads of each status, by time of their last change, in one statement."""
    where, params = _search(agent=agent, q=q)
    rows = _all(
        _THREAD.replace(
            "FROM gp_thread th",
            "FROM unnest(%s::text[]) AS lane(status) CROSS JOIN LATERAL (SELECT th.* "
            "FROM gp_thread th WHERE th.workspace_id = %s::uuid AND th.status = lane.status "
            + "".join(f"AND {condition} " for condition in where)
            + "ORDER BY th.status_since DESC, th.id DESC LIMIT %s) th",
        )
        + "ORDER BY th.status_since DESC, th.id DESC",
        ([str(s) for s in statuses], workspace, *params, limit),
    )
    found: dict[Status, list[ThreadRow]] = {status: [] for status in statuses}
    for row in map(_thread, rows):
        found[row.status].append(row)
    return found


def titles(thread_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Titles of these threads."""
    rows = _all("SELECT id, title FROM gp_thread WHERE id = ANY(%s::uuid[])", (list(thread_ids),))
    return {r[0]: r[1] for r in rows}


def thread_marks(thread_ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
    """{thread: a value that differs when its page has more to show}.

    The number of the newest event, and whether it waits for a worker suspiciously long: that
    writes no event, but people want to know.
    """
    rows = _all(
        "SELECT id, last_seq, CASE WHEN status = 'queued' OR lease_until IS NULL "
        "THEN status IN ('queued', 'rolling_back') "
        "AND status_since < clock_timestamp() - make_interval(secs => %s) "
        "ELSE lease_until < clock_timestamp() END "
        "FROM gp_thread WHERE id = ANY(%s::uuid[])",
        (STANDSTILL_SECONDS, list(thread_ids)),
    )
    return {r[0]: (r[1], r[2]) for r in rows}


def in_workspace(thread_ids: Sequence[UUID], *, workspace: UUID) -> set[UUID]:
    """Those of these threads that lie in the workspace."""
    rows = _all(
        "SELECT id FROM gp_thread WHERE id = ANY(%s::uuid[]) AND workspace_id = %s::uuid",
        (list(thread_ids), workspace),
    )
    return {r[0] for r in rows}


def board_mark(*, workspace: UUID) -> tuple[int, tuple[Any, ...]]:
    """(microseconds of the database's clock, a value that differs when the board moved)."""
    row = _all(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
        "(SELECT max(status_since) FROM gp_thread WHERE workspace_id = %s::uuid), n, total "
        "FROM (SELECT count(*) AS n, sum(last_seq) AS total FROM gp_thread WHERE "
        "workspace_id = %s::uuid AND status = ANY(%s::text[])) moving",
        (workspace, workspace, [str(s) for s in MOVING]),
    )[0]
    return row[0], tuple(row[1:])


def counts(*, workspace: UUID) -> dict[Status, int]:
    """Threads per status: live ones exactly, finished ones up to COUNT_CAP + 1."""
    rows = _all(
        "SELECT status, count(*) FROM gp_thread WHERE workspace_id = %s::uuid "
        "AND status = ANY(%s::text[]) GROUP BY status UNION ALL "
        "SELECT f.status, (SELECT count(*) FROM (SELECT 1 FROM gp_thread th WHERE "
        "th.workspace_id = %s::uuid AND th.status = f.status LIMIT %s) x) "
        "FROM unnest(%s::text[]) f(status)",
        (
            workspace,
            [str(s) for s in LIVE],
            workspace,
            COUNT_CAP + 1,
            [str(s) for s in FINISHED],
        ),
    )
    return dict.fromkeys(Status, 0) | {Status(s): n for s, n in rows}


def state_at(thread_id: UUID, checkpoint_id: UUID) -> dict[str, Any]:
    """The full state at a checkpoint of this thread, from one query; raises NotFound."""
    return history.materialise(thread_id, checkpoint_id).state


def checkpoint(thread_id: UUID, checkpoint_id: UUID) -> CheckpointRow:
    """One checkpoint of this thread; raises NotFound."""
    rows = _all(
        _CHECKPOINT.format(delta="c.delta::text")
        + "WHERE c.thread_id = %s::uuid AND c.id = %s::uuid",
        (thread_id, checkpoint_id),
    )
    if not rows:
        raise NotFound("There is no such checkpoint in this thread.")
    return _checkpoint(rows[0])


def checkpoint_by_number(thread_id: UUID, number: int) -> CheckpointRow:
    """The checkpoint with this ordinal in the thread; raises NotFound."""
    rows = _all(
        _CHECKPOINT.format(delta="c.delta::text")
        + "WHERE c.thread_id = %s::uuid AND c.number = %s::integer",
        (thread_id, number),
    )
    if not rows:
        raise NotFound("There is no such checkpoint in this thread.")
    return _checkpoint(rows[0])


def checkpoints(
    thread_id: UUID, *, limit: int = 50, before: int | None = None
) -> Page[CheckpointRow]:
    """A thread's own checkpoints, newest first, without deltas; cursor = ordinal."""
    rows = _all(
        _CHECKPOINT.format(delta="NULL")
        + "WHERE c.thread_id = %s::uuid AND c.number < %s::integer "
        "ORDER BY c.number DESC LIMIT %s",
        (thread_id, 2**31 - 1 if before is None else before, limit + 1),
    )
    marked = _mark(thread_id, [_checkpoint(r) for r in rows[:limit]])
    return Page(tuple(marked), str(marked[-1].number) if len(rows) > limit else "")


# The whole way from a checkpoint to the first input, one row per branch gone through.
_WAY = """
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.branch, c.branch_start AS lo, c.number AS hi, c.step AS hi_step, 0 AS depth
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  SELECT p.thread_id, p.branch, p.branch_start, p.number, p.step, s.depth + 1
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
) SELECT thread_id, branch, lo, hi, hi_step FROM seg ORDER BY depth
"""


def way(thread_id: UUID, checkpoint_id: UUID) -> list[tuple[UUID, int, int, int, int]]:
    """Ranges (thread, branch, first number, last number, last step), newest first."""
    return [(r[0], r[1], r[2], r[3], r[4]) for r in _all(_WAY, (thread_id, checkpoint_id))]


def _mark(thread_id: UUID, rows: list[CheckpointRow]) -> list[CheckpointRow]:
    """Set `abandoned` on checkpoints that the head's path does not go through."""
    head = _all("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread_id,))
    if not head or not rows:
        return rows
    ranges = [(lo, hi) for t, _, lo, hi, _ in way(thread_id, head[0][0]) if t == thread_id]
    from dataclasses import replace

    return [
        r if any(lo <= r.number <= hi for lo, hi in ranges) else replace(r, abandoned=True)
        for r in rows
    ]


def lineage(thread_id: UUID, *, limit: int = 200) -> list[CheckpointRow]:
    """The thread's newest checkpoints, then those of its base up to the fork; newest first."""
    own = list(checkpoints(thread_id, limit=limit).rows)
    if own and own[-1].number == 0 and own[-1].parent_thread not in (None, thread_id):
        first = own[-1]
        for base, _, lo, hi, _ in way(first.thread, first.id)[1:]:
            if len(own) >= limit:
                break
            rows = _all(
                _CHECKPOINT.format(delta="NULL") + "WHERE c.thread_id = %s::uuid "
                "AND c.number BETWEEN %s::integer AND %s::integer ORDER BY c.number DESC LIMIT %s",
                (base, lo, hi, limit - len(own)),
            )
            own += [_checkpoint(r) for r in rows]
    return own


def events_after(
    thread_id: UUID, seq: int, *, limit: int = 500, kinds: Sequence[str] = ()
) -> list[EventRow]:
    """Events after `seq`, oldest first: how a reader catches up without gaps.

    `kinds` as in `events`; then there are gaps of course.
    """
    where = ""
    params: list[Any] = [thread_id, seq]
    if kinds:
        where = "AND (kind = ANY(%s::text[]) OR split_part(kind, '.', 1) = ANY(%s::text[])) "
        params += [list(kinds), list(kinds)]
    rows = _all(
        f"{_EVENT} WHERE thread_id = %s::uuid AND seq > %s::bigint {where}ORDER BY seq LIMIT %s",
        (*params, limit),
    )
    return [_event(r) for r in rows]


def event_of_checkpoint(thread_id: UUID, checkpoint_id: UUID) -> EventRow | None:
    """The event that proves a checkpoint: its commit, or the birth of its thread."""
    rows = _all(
        f"{_EVENT} WHERE thread_id = %s::uuid AND kind IN ('checkpoint.committed', "
        "'thread.started', 'thread.forked') AND coalesce(data -> 'checkpoint' ->> 'checkpoint', "
        "data ->> 'checkpoint') = %s::text ORDER BY seq LIMIT 1",
        (thread_id, str(checkpoint_id)),
    )
    return _event(rows[0]) if rows else None


def events(
    thread_id: UUID, *, kinds: Sequence[str] = (), before: int | None = None, limit: int = 50
) -> Page[EventRow]:
    """Events newest first; `kinds` are whole kinds or nouns ("approval"); cursor = seq."""
    where = ["thread_id = %s::uuid", "seq < %s::bigint"]
    params: list[Any] = [thread_id, 2**62 if before is None else before]
    if kinds:
        where.append("(kind = ANY(%s::text[]) OR split_part(kind, '.', 1) = ANY(%s::text[]))")
        params += [list(kinds), list(kinds)]
    rows = _all(
        f"{_EVENT} WHERE {' AND '.join(where)} ORDER BY seq DESC LIMIT %s", (*params, limit + 1)
    )
    found = tuple(_event(r) for r in rows[:limit])
    return Page(found, str(found[-1].seq) if len(rows) > limit else "")


def event_nouns(thread_id: UUID) -> dict[str, int]:
    """How many events of each noun the thread has."""
    rows = _all(
        "SELECT split_part(kind, '.', 1), count(*) FROM gp_event WHERE thread_id = %s::uuid "
        "GROUP BY 1 ORDER BY 1",
        (thread_id,),
    )
    return {r[0]: r[1] for r in rows}


def recent_events(*, workspace: UUID, limit: int = 30) -> list[EventRow]:
    """The newest entries of the workspace's most recently moved threads, newest first."""
    rows = _all(
        "SELECT e.thread_id, e.seq, e.kind, e.actor, e.data::text, e.at, encode(e.hash, 'hex'), "
        "encode(e.prev_hash, 'hex') FROM (SELECT id FROM gp_thread WHERE workspace_id = %s::uuid "
        "ORDER BY status_since DESC, id DESC LIMIT 50) th CROSS JOIN LATERAL (SELECT * FROM "
        "gp_event WHERE thread_id = th.id ORDER BY seq DESC LIMIT 10) e "
        "ORDER BY e.at DESC LIMIT %s",
        (workspace, limit),
    )
    return [_event(r) for r in rows]


def activities(thread_id: UUID, *, limit: int = 200) -> list[ActivityRow]:
    """Save points of the thread, newest first."""
    rows = _all(
        _ACTIVITY + "WHERE thread_id = %s::uuid "
        "ORDER BY branch DESC, step DESC, started_at DESC, id DESC LIMIT %s",
        (thread_id, limit),
    )
    return [_activity(r) for r in rows]


def activity(activity_id: UUID) -> ActivityRow:
    """One activity; raises NotFound."""
    rows = _all(_ACTIVITY + "WHERE id = %s::uuid", (activity_id,))
    if not rows:
        raise NotFound("There is no such activity.")
    return _activity(rows[0])


def step_activities(thread_id: UUID, *, branch: int, step: int) -> list[ActivityRow]:
    """What is recorded at one step, oldest first, newest revision of a position last."""
    rows = _all(
        _ACTIVITY + "WHERE thread_id = %s::uuid AND branch = %s::integer AND step = %s::integer "
        "ORDER BY started_at, revision",
        (thread_id, branch, step),
    )
    return [_activity(r) for r in rows]


def recorded_thoughts(thread_id: UUID, *, branch: int, step: int) -> set[tuple[str, int]]:
    """(node, ordinal) of the thoughts recorded so far at one step."""
    rows = _all(
        "SELECT data ->> 'node', (data ->> 'ordinal')::integer FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'thought.recorded' AND seq > (SELECT "
        "coalesce(max(seq), 0) FROM gp_event WHERE thread_id = %s::uuid AND seq > (SELECT "
        "last_seq - 200 FROM gp_thread WHERE id = %s::uuid) AND kind = 'checkpoint.committed') "
        "AND (data ->> 'branch')::integer = %s::integer "
        "AND (data ->> 'step')::integer = %s::integer",
        (thread_id, thread_id, thread_id, branch, step),
    )
    return {(r[0], r[1]) for r in rows}


def effects_after(thread_id: UUID, checkpoint_id: UUID) -> list[EffectFate]:
    """What happened outside after a checkpoint on the way to the head, last first, and its fate."""
    target = checkpoint(thread_id, checkpoint_id)
    head = _all("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread_id,))[0][0]
    found: list[ActivityRow] = []
    for i, (owner, branch, lo, hi, hi_step) in enumerate(way(thread_id, head)):
        if owner != thread_id:
            break
        here = lo <= target.number <= hi
        # The step in progress stands one above the head's own.
        top = hi_step + 1 if i == 0 else hi_step
        rows = _all(
            _ACTIVITY + "WHERE thread_id = %s::uuid AND branch = %s::integer "
            "AND step > %s::integer AND step <= %s::integer AND kind = 'effect' "
            "AND state IN ('done', 'started', 'unknown') "
            "ORDER BY step DESC, started_at DESC, id DESC",
            (thread_id, branch, target.step if here else -1, top),
        )
        found += [_activity(r) for r in rows]
        if here:
            break
    return [_fate(a) for a in found]


def _fate(a: ActivityRow) -> EffectFate:
    if a.state != "done":
        return EffectFate(a, "unknown", "had started; nobody knows yet whether it happened")
    if a.undo:
        return EffectFate(a, "undoable", f"will be undone by {a.undo}")
    return EffectFate(a, "stays", "cannot be undone and stays done")


def children(thread_id: UUID) -> list[ThreadRow]:
    """Threads forked from any checkpoint of this one, newest first."""
    rows = _all(
        _THREAD + "WHERE th.forked_from IN (SELECT id FROM gp_checkpoint "
        "WHERE thread_id = %s::uuid) ORDER BY th.created_at DESC LIMIT 100",
        (thread_id,),
    )
    return [_thread(r) for r in rows]


def diff(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """What changed between two states, as RFC 6902 operations."""
    found: list[dict[str, Any]] = jsonpatch.make_patch(old, new).patch
    return found


def _agent(r: tuple[Any, ...]) -> AgentRow:
    return AgentRow(
        *(
            *r[:7],
            _json(r[7]),
            _json(r[8]),
            _json(r[9]),
            _json(r[10]),
            *r[11:],
        )
    )


def agents() -> list[AgentRow]:
    """The newest announced version of each agent, by name."""
    rows = _all(
        f"SELECT DISTINCT ON (x.agent) x.* FROM ({_AGENT}) x "
        "ORDER BY x.agent, x.created_at DESC, x.version DESC",
        (WORKER_ALIVE_SECONDS,),
    )
    return [_agent(r) for r in rows]


def agent(name: str) -> AgentRow:
    """The version of an agent that live workers know, else the newest; raises NotFound."""
    rows = _all(
        f"SELECT x.* FROM ({_AGENT}) x WHERE x.agent = %s::varchar "
        "ORDER BY (x.count > 0) DESC, x.created_at DESC, x.version DESC LIMIT 1",
        (WORKER_ALIVE_SECONDS, name),
    )
    if not rows:
        raise NotFound(f"No worker has announced an agent named {name!r}.")
    return _agent(rows[0])


def agent_version(version_id: UUID) -> AgentRow:
    """One agent version; raises NotFound."""
    rows = _all(_AGENT + "WHERE v.id = %s::uuid", (WORKER_ALIVE_SECONDS, version_id))
    if not rows:
        raise NotFound("There is no such agent version.")
    return _agent(rows[0])


def workers() -> list[WorkerRow]:
    """Workers seen within a day, newest sign of life first."""
    rows = _all(
        "SELECT id, host, pid, slots, queues::text, agents::text, started_at, seen_at, "
        "stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %s) "
        "FROM gp_worker WHERE seen_at > clock_timestamp() - interval '1 day' "
        "ORDER BY seen_at DESC",
        (WORKER_ALIVE_SECONDS,),
    )
    return [
        WorkerRow(
            *(
                *r[:4],
                tuple(_json(r[4])),
                tuple(_json(r[5])),
                *r[6:],
            )
        )
        for r in rows
    ]


def artifact(sha256: str, *, workspace: UUID) -> ArtifactRow:
    """One file by its content hash; raises NotFound."""
    rows = _all(
        "SELECT sha256, name, media_type, size, path FROM gp_artifact "
        "WHERE workspace_id = %s::uuid AND sha256 = %s::varchar",
        (workspace, sha256),
    )
    if not rows:
        raise NotFound("There is no such file in this workspace.")
    return ArtifactRow(*rows[0])


def default_workspace() -> UUID:
    """The oldest workspace; raises NotFound before the first is made."""
    rows = _all("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1")
    if not rows:
        raise NotFound("There is no workspace yet; `manage.py up` makes one.")
    found: UUID = rows[0][0]
    return found


def memberships(user_id: int) -> list[tuple[UUID, str, str]]:
    """(workspace, workspace name, role) of a user, oldest workspace first."""
    rows = _all(
        "SELECT w.id, w.name, m.role FROM gp_membership m JOIN gp_workspace w "
        "ON w.id = m.workspace_id WHERE m.user_id = %s ORDER BY w.created_at, m.role",
        (user_id,),
    )
    return [(r[0], r[1], r[2]) for r in rows]
