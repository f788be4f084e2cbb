"""Threads: one, lists by keyset, lanes, counts, marks."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ..errors import InvalidValue, NotFound
from ..state import deltas
from ..states import FINISHED, LIVE, Status
from ..views import Page, ThreadRow
from .proof import DAMAGE_MARK, verification_of
from .rows import decoded, names, row_of, rows

COUNT_CAP = 10_000
STANDSTILL_SECONDS = 3
_ASCENDING = "ORDER BY th.status_since, th.id"
_DESCENDING = "ORDER BY th.status_since DESC, th.id DESC"
# Threads whose events come without a change of status; few enough to be summed up.
MOVING = (Status.QUEUED, Status.RUNNING, Status.PAUSED, Status.ATTENTION, Status.ROLLING_BACK)


THREAD = """
SELECT th.id, th.workspace_id, th.name, th.title, th.agent, v.version::text, th.agent_version_id,
  th.labels::text, th.status, th.status_since, th.status_reason, th.version, th.last_seq,
  th.last_at, th.number, th.step, th.branch, th.next_nodes::text, th.waiting_on::text, th.wake_at,
  th.wish, th.pause_at, th.effects, th.lease_owner, th.lease_until, th.fence, th.crash_count,
  th.head, th.parent, th.base, th.forked_from, th.started_by, th.rollback::text, th.n_steps,
  th.tokens, trim_scale(th.cost)::text, th.tokens_saved, th.state_bytes, th.created_at,
  coalesce(v.graph ->> 'inbox', ''), th.imported_seq, th.imported_number, th.pinned,
  (SELECT to_jsonb(k)::text FROM gp_verification k WHERE k.thread_id = th.id)
FROM gp_thread th JOIN gp_agent_version v ON v.id = th.agent_version_id
"""


def thread_of(values: Sequence[Any]) -> ThreadRow:
    """A thread as selected by THREAD."""
    columns = {7: decoded, 8: Status, 17: names, 18: decoded, 32: decoded, 43: verification_of}
    return row_of(ThreadRow, values, columns)


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
    found = rows(
        THREAD + "WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid", (thread_id, workspace)
    )
    if not found:
        raise NotFound("There is no such thread in this workspace.")
    return thread_of(found[0])


def thread_named(name: str, *, agent: str, workspace: UUID) -> ThreadRow | None:
    """The workspace's thread of this agent and name, or None."""
    found = rows(
        THREAD + "WHERE th.workspace_id = %s::uuid AND th.agent = %s::varchar "
        "AND th.name = %s::varchar",
        (workspace, agent, name),
    )
    return thread_of(found[0]) if found else None


def _search(*, agent: str, q: str, damaged: bool = False) -> tuple[list[str], list[Any]]:
    """Conditions on th.* for an agent's name, text in the title or a begun id, a damaged record."""
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
    if damaged:
        # Few, and known by an index: never a reason to look at every thread.
        few = "SELECT k.thread_id FROM gp_verification k WHERE NOT k.intact"
        where.append(f"th.id = ANY(ARRAY({few}))")
    return where, params


def threads(
    *,
    workspace: UUID,
    statuses: Iterable[Status] = (),
    agent: str = "",
    q: str = "",
    label: tuple[str, str] | None = None,
    damaged: bool = False,
    limit: int = 50,
    after: str = "",
    oldest_first: bool = False,
) -> Page[ThreadRow]:
    """Threads by time of their last change of status, newest first unless said otherwise.

    `damaged`: only those whose records are.
    """
    where = ["th.workspace_id = %s::uuid"]
    params: list[Any] = [workspace]
    wanted = [str(s) for s in statuses]
    if wanted:
        where.append("th.status = ANY(%s::text[])")
        params.append(wanted)
    searched, values = _search(agent=agent, q=q, damaged=damaged)
    where += searched
    params += values
    if label:
        where.append("th.labels ->> %s::text = %s::text")
        params += label
    if after:
        beyond = ">" if oldest_first else "<"
        where.append(f"(th.status_since, th.id) {beyond} (%s::timestamptz, %s::uuid)")
        params += _cursor_in(after)
    order = _ASCENDING if oldest_first else _DESCENDING
    raw = rows(
        f"{THREAD} WHERE {' AND '.join(where)} {order} LIMIT %s",
        (*params, limit + 1),
    )
    found = tuple(thread_of(r) for r in raw[:limit])
    more = _cursor_out(found[-1].status_since, found[-1].id) if len(raw) > limit else ""
    return Page(found, more)


def lanes(
    *,
    workspace: UUID,
    statuses: Sequence[Status],
    newest_first: Collection[Status] = (),
    agent: str = "",
    q: str = "",
    damaged: bool = False,
    limit: int = 25,
) -> dict[Status, list[ThreadRow]]:
    """Up to `limit` threads of each status in one statement, those longest in it first.

    Of the statuses in `newest_first` those that came last stand first.
    """
    where, params = _search(agent=agent, q=q, damaged=damaged)
    conditions = "".join(f"AND {condition} " for condition in where)

    def lane(flag: str, order: str) -> str:
        return (
            f"(SELECT th.* FROM gp_thread th WHERE {flag} lane.newest "
            f"AND th.workspace_id = %s::uuid AND th.status = lane.status {conditions}"
            f"{order} LIMIT %s)"
        )

    lateral = f"{lane('NOT', _ASCENDING)} UNION ALL {lane('', _DESCENDING)}"
    raw = rows(
        THREAD.replace(
            "FROM gp_thread th",
            "FROM unnest(%s::text[], %s::bool[]) AS lane(status, newest) "
            f"CROSS JOIN LATERAL ({lateral}) th",
        ),
        (
            [str(s) for s in statuses],
            [s in newest_first for s in statuses],
            *(workspace, *params, limit),
            *(workspace, *params, limit),
        ),
    )
    found: dict[Status, list[ThreadRow]] = {status: [] for status in statuses}
    for row in map(thread_of, raw):
        found[row.status].append(row)
    for status, lane_rows in found.items():
        lane_rows.sort(key=lambda row: (row.status_since, row.id), reverse=status in newest_first)
    return found


def titles(thread_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Titles of these threads."""
    found = rows("SELECT id, title FROM gp_thread WHERE id = ANY(%s::uuid[])", (list(thread_ids),))
    return {r[0]: r[1] for r in found}


def imports(thread_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """{thread: last event and checkpoint that came with a capsule} for those that were imported."""
    found = rows(
        "SELECT id, imported_seq, imported_number FROM gp_thread "
        "WHERE id = ANY(%s::uuid[]) AND imported_seq > 0",
        (list(thread_ids),),
    )
    return {r[0]: (r[1], r[2]) for r in found}


def thread_marks(
    thread_ids: Sequence[UUID],
) -> dict[UUID, tuple[int, bool, datetime | None]]:
    """{thread: a value that differs when its page has more to show}.

    The number of the newest event, and whether it waits for a worker suspiciously long: that
    writes no event, but people want to know. And since when its record is damaged.
    """
    found = rows(
        "SELECT id, last_seq, CASE WHEN status = 'queued' OR lease_until IS NULL "
        "THEN status IN ('queued', 'rolling_back') "
        "AND status_since < clock_timestamp() - make_interval(secs => %s) "
        "ELSE lease_until < clock_timestamp() END, (SELECT k.found_at FROM gp_verification k "
        "WHERE k.thread_id = th.id) FROM gp_thread th WHERE id = ANY(%s::uuid[])",
        (STANDSTILL_SECONDS, list(thread_ids)),
    )
    return {r[0]: (r[1], r[2], r[3]) for r in found}


def ids_beginning(begins: str, *, workspace: UUID) -> list[UUID]:
    """Up to two threads whose ids begin with these hexadecimal digits and hyphens."""
    digits = begins.replace("-", "")[:32]
    low, high = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    found = rows(
        "SELECT id FROM gp_thread WHERE id BETWEEN %s::uuid AND %s::uuid "
        "AND workspace_id = %s::uuid AND id::text LIKE %s::text LIMIT 2",
        (low, high, workspace, f"{begins}%"),
    )
    return [r[0] for r in found]


def ids_named(name: str, *, workspace: UUID) -> list[UUID]:
    """Up to two threads of this name; it is unique per agent only."""
    deltas.check(name, "name")
    found = rows(
        "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid AND name = %s::varchar LIMIT 2",
        (workspace, name),
    )
    return [r[0] for r in found]


def in_workspace(thread_ids: Sequence[UUID], *, workspace: UUID) -> set[UUID]:
    """Those of these threads that lie in the workspace."""
    found = rows(
        "SELECT id FROM gp_thread WHERE id = ANY(%s::uuid[]) AND workspace_id = %s::uuid",
        (list(thread_ids), workspace),
    )
    return {r[0] for r in found}


def board_mark(*, workspace: UUID) -> tuple[int, tuple[Any, ...]]:
    """(microseconds of the database's clock, a value that differs when the board moved)."""
    row = rows(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
        "(SELECT max(status_since) FROM gp_thread WHERE workspace_id = %s::uuid), "
        f"({DAMAGE_MARK}), n, total "
        "FROM (SELECT count(*) AS n, sum(last_seq) AS total FROM gp_thread WHERE "
        "workspace_id = %s::uuid AND status = ANY(%s::text[])) moving",
        (workspace, workspace, workspace, workspace, [str(s) for s in MOVING]),
    )[0]
    return row[0], tuple(row[1:])


def counts(
    *, workspace: UUID, agent: str = "", q: str = "", damaged: bool = False
) -> dict[Status, int]:
    """Threads per status that match: live ones exactly, finished ones up to COUNT_CAP + 1."""
    where, params = _search(agent=agent, q=q, damaged=damaged)
    conditions = "".join(f"AND {condition} " for condition in where)
    found = rows(
        "SELECT th.status, count(*) FROM gp_thread th WHERE th.workspace_id = %s::uuid "
        f"AND th.status = ANY(%s::text[]) {conditions}GROUP BY th.status UNION ALL "
        "SELECT f.status, (SELECT count(*) FROM (SELECT 1 FROM gp_thread th WHERE "
        f"th.workspace_id = %s::uuid AND th.status = f.status {conditions}LIMIT %s) x) "
        "FROM unnest(%s::text[]) f(status)",
        (
            workspace,
            [str(s) for s in LIVE],
            *params,
            workspace,
            *params,
            COUNT_CAP + 1,
            [str(s) for s in FINISHED],
        ),
    )
    return dict.fromkeys(Status, 0) | {Status(s): n for s, n in found}


def children(thread_id: UUID) -> list[ThreadRow]:
    """Threads forked from any checkpoint of this one, newest first."""
    found = rows(
        THREAD + "WHERE th.forked_from IN (SELECT id FROM gp_checkpoint "
        "WHERE thread_id = %s::uuid) ORDER BY th.created_at DESC LIMIT 100",
        (thread_id,),
    )
    return [thread_of(r) for r in found]
