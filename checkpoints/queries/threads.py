"""Threads: one, lists by keyset, lanes, counts, marks."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ..agent_versions import External
from ..breakers.rule import STOPPED, STOPPED_BY, stopped_row
from ..durabilities import DURABLE
from ..errors import InvalidValue, NotFound
from ..log.closed_threads import ERASED_OF, erased_row
from ..postgres import reads as prepared
from ..selections import EVERY_THREAD, Selection
from ..state import deltas
from ..states import Status
from ..tables import columns as tables
from ..tables.readers import Reader
from ..views import Page, ThreadRow
from .proof import verification_of
from .rows import names, rows
from .search import few
from .search.bounded import possible
from .search.counts import LOOK
from .search.filters import conditions_of
from .search.stuck import STUCK_OF, stuck_of

DEPTH_MAX: Final = 32_767
STANDSTILL_SECONDS = 3
# Threads of each status that a page of a list searches where no index finds what is selected.
LIST_LOOK: Final = 5_000
_ASCENDING = "ORDER BY th.status_since, th.id"
_DESCENDING = "ORDER BY th.status_since DESC, th.id DESC"
# Threads whose events come without a change of status; few enough to be summed up.
MOVING = (Status.QUEUED, Status.RUNNING, Status.PAUSED, Status.ATTENTION, Status.ROLLING_BACK)


thread_of = Reader(
    ThreadRow,
    tables.THREAD,
    alias="th",
    sql={
        "workspace": "workspace_id",
        "version_label": "v.version::text",
        "cost": "trim_scale(th.cost)::text",
        "message_channel": "coalesce(v.graph ->> 'inbox', '')",
        "external": "(v.graph -> 'external')::text",
        "integrity": "(SELECT to_jsonb(k)::text FROM gp_verification k WHERE k.thread_id = th.id)",
        "stuck": STUCK_OF,
        "stopped": STOPPED,
        "erased": ERASED_OF,
        "durability": f"coalesce(v.graph ->> 'durability', '{DURABLE}')",
        "read_at": "statement_timestamp()",
    },
    decode={
        "status": Status,
        "next_nodes": names,
        "integrity": verification_of,
        "external": External.read,
        "stuck": stuck_of,
        "stopped": stopped_row,
        "erased": erased_row,
    },
)
_COLUMNS = f"SELECT {thread_of.select} "
_VERSION = "JOIN gp_agent_version v ON v.id = th.agent_version_id "
THREAD = f"{_COLUMNS}FROM gp_thread th {_VERSION}"


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """The columns of a thread that its agent elsewhere is answered after each call."""

    id: UUID
    workspace: UUID
    status: Status
    version: int
    last_seq: int
    head: UUID
    number: int
    step: int
    branch: int
    next_nodes: tuple[str, ...]
    wish: str
    pause_at: str
    fence: int
    lease_until: datetime | None


_summary_of = Reader(
    ThreadSummary,
    tables.THREAD,
    alias="th",
    sql={"workspace": "workspace_id"},
    decode={"status": Status, "next_nodes": names},
)
_SUMMARY = (
    f"SELECT {_summary_of.select} FROM gp_thread th "
    "WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid"
)


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
    result = rows(
        THREAD + "WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid", (thread_id, workspace)
    )
    if not result:
        raise NotFound("There is no such thread in this workspace.")
    return thread_of(result[0])


def thread_summary(thread_id: UUID, *, workspace: UUID) -> ThreadSummary:
    """Read how a thread stands, from its own row alone; raises NotFound as `thread` does."""
    result = prepared.fetch(_SUMMARY, (thread_id, workspace))
    if not result:
        raise NotFound("There is no such thread in this workspace.")
    return _summary_of(result[0])


def thread_named(name: str, *, agent: str, workspace: UUID) -> ThreadRow | None:
    """The workspace's thread of this agent and name, or None."""
    result = rows(
        THREAD + "WHERE th.workspace_id = %s::uuid AND th.agent = %s::varchar "
        "AND th.name = %s::varchar",
        (workspace, agent, name),
    )
    return thread_of(result[0]) if result else None


def threads(
    selection: Selection = EVERY_THREAD,
    *,
    workspace: UUID,
    limit: int = 50,
    after: str = "",
    oldest_first: bool = False,
    look: int | None = None,
) -> Page[ThreadRow]:
    """Threads by time of their last change of status, newest first unless said otherwise.

    Where no index finds what is selected, no more than `look` threads of each status are looked at:
    a page can have few rows or none, and a cursor for those behind.
    """
    wanted = list(dict.fromkeys(str(s) for s in selection.statuses))
    more, values = ["th.workspace_id = %s::uuid"], list[Any]([workspace])
    if len(wanted) == 1:
        more.append("th.status = %s::text")
        values += wanted
    if after:
        beyond = ">" if oldest_first else "<"
        more.append(f"(th.status_since, th.id) {beyond} (%s::timestamptz, %s::uuid)")
        values += _cursor_in(after)
    with few.lookup_of(workspace, selection) as lookup:
        made = conditions_of(workspace, selection, common=lookup.common)
        order = _ASCENDING if oldest_first else _DESCENDING
        last = None
        if look and made.is_walked and lookup.match is not few.Match.FEW:
            ordered = " AND ".join([*more, *made.ordered])
            last = _last_of([*values, *made.ordered_params], ordered, wanted, order, look)
        if last:
            more.append(f"(th.status_since, th.id) {'<=' if oldest_first else '>='} (%s, %s)")
            values += last
        conditions = " AND ".join([*more, *made.where])
        raw = _listed(lookup.match, conditions, [*values, *made.params, limit + 1], wanted, order)
    results = tuple(thread_of(r) for r in raw[:limit])
    if len(raw) > limit:
        last = (results[-1].status_since, results[-1].id)
    return Page(results, _cursor_out(*last) if last else "")


def _last_of(
    params: Sequence[Any], conditions: str, wanted: Sequence[str], order: str, look: int
) -> tuple[datetime, UUID] | None:
    """The place in a list up to which `look` threads of a status are; None if none has as many."""
    some = list(wanted) if len(wanted) > 1 else [None]
    # An index has the threads of one status in order.
    of_status = "th.status = one.status AND " if len(wanted) > 1 else ""
    result = rows(
        "SELECT th.status_since, th.id FROM unnest(%s::text[]) AS one (status) CROSS JOIN LATERAL "
        f"(SELECT th.status_since, th.id FROM gp_thread th WHERE {of_status}{conditions} {order} "
        f"OFFSET %s LIMIT 1) th {order} LIMIT 1",
        (some, *params, look - 1),
    )
    return tuple(result[0]) if result else None


def _listed(
    match: few.Match, conditions: str, params: list[Any], wanted: list[str], order: str
) -> list[tuple[Any, ...]]:
    """The first rows of a list, in its order; the last parameter says how many."""
    text = f"{THREAD} WHERE {conditions} {order} LIMIT %s"
    if match is few.Match.FEW:
        of_status = "WHERE th.status = ANY(%s::text[]) " if len(wanted) > 1 else ""
        text = (
            f"{few.collected(conditions)}{_COLUMNS}FROM (SELECT th.id FROM few th {of_status}"
            f"{order} LIMIT %s) x JOIN gp_thread th ON th.id = x.id {_VERSION}{order}"
        )
        params = [*params[:-1], *([wanted] if of_status else []), params[-1]]
    elif len(wanted) > 1:
        # An index has the threads of one status in order: of each as many as the page could need.
        each = (
            "SELECT th.* FROM unnest(%s::text[]) AS one(status) CROSS JOIN LATERAL (SELECT th.* "
            f"FROM gp_thread th WHERE th.status = one.status AND {conditions} {order} LIMIT %s) th "
            f"{order} LIMIT %s"
        )
        text = f"{_COLUMNS}FROM ({each}) th {_VERSION}{order}"
        params = [wanted, *params, params[-1]]
    return rows(text, params)


def lanes(
    selection: Selection = EVERY_THREAD,
    *,
    workspace: UUID,
    statuses: Sequence[Status],
    newest_first: Collection[Status] = (),
    limit: int = 25,
) -> dict[Status, list[ThreadRow]]:
    """Up to `limit` threads of each status in one statement, those longest in it first.

    These are `statuses`, whichever it selects. Of those in `newest_first` threads that came last
    stand first. Where no index finds what is selected, the first LOOK of each status are looked at.
    """
    possible_ones = possible(replace(selection, statuses=()))
    some = [status for status in statuses if status in possible_ones]
    with few.lookup_of(workspace, selection) as lookup:
        made = conditions_of(workspace, selection, common=lookup.common)
        conditions = " AND ".join(["th.workspace_id = %s::uuid", *made.where])
        params, each = list[Any](), [workspace, *made.params]
        first, source, behind = "", f"SELECT th.* FROM gp_thread th WHERE {conditions}", ""
        rest = "th"
        if lookup.match is few.Match.FEW:
            params, each = each, []
            first, source = few.collected(conditions), "SELECT th.id FROM few th WHERE true"
            rest = "x JOIN gp_thread th ON th.id = x.id"
        elif made.is_walked:
            ordered = " AND ".join(["th.workspace_id = %s::uuid", *made.ordered])
            each = [workspace, *made.ordered_params, LOOK, *made.params]
            source = f"SELECT th.* FROM (SELECT th.* FROM gp_thread th WHERE {ordered}"
            behind = f"LIMIT %s) th WHERE {' AND '.join(made.where)}"

        def lane(flag: str, order: str) -> str:
            of_lane = f"AND {flag} lane.newest AND th.status = lane.status {order}"
            return f"({source} {of_lane} {behind} {order if behind else ''} LIMIT %s)"

        lateral = f"{lane('NOT', _ASCENDING)} UNION ALL {lane('', _DESCENDING)}"
        text = THREAD.replace(
            "FROM gp_thread th",
            "FROM unnest(%s::text[], %s::bool[]) AS lane(status, newest) "
            f"CROSS JOIN LATERAL ({lateral}) {rest}",
        )
        newest = [s in newest_first for s in some]
        raw = rows(
            first + text,
            (*params, [str(s) for s in some], newest, *(*each, limit), *(*each, limit)),
        )
    results: dict[Status, list[ThreadRow]] = {status: [] for status in statuses}
    for row in map(thread_of, raw):
        results[row.status].append(row)
    for status, lane_rows in results.items():
        lane_rows.sort(key=lambda row: (row.status_since, row.id), reverse=status in newest_first)
    return results


def titles(thread_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Titles of these threads."""
    result = rows("SELECT id, title FROM gp_thread WHERE id = ANY(%s::uuid[])", (list(thread_ids),))
    return dict(result)


def families_of(thread_ids: Sequence[UUID]) -> dict[UUID, tuple[UUID, str]]:
    """{thread: (the first thread of its family tree, the title of that one)}."""
    result = rows(
        "SELECT th.id, r.id, r.title FROM gp_thread th "
        "JOIN gp_thread r ON r.id = coalesce(th.root, th.id) WHERE th.id = ANY(%s::uuid[])",
        (list(thread_ids),),
    )
    return {thread: (root, title) for thread, root, title in result}


def titles_in(thread_ids: Collection[UUID], *, workspace: UUID) -> dict[UUID, str]:
    """Titles of those of these threads that lie in the workspace."""
    result = rows(
        "SELECT id, title FROM gp_thread WHERE id = ANY(%s::uuid[]) AND workspace_id = %s::uuid",
        (list(thread_ids), workspace),
    )
    return dict(result)


_MARKS = (
    "SELECT id, last_seq, CASE WHEN status = 'queued' OR lease_until IS NULL "
    "THEN status IN ('queued', 'rolling_back') "
    "AND status_since < clock_timestamp() - make_interval(secs => %s) "
    "ELSE lease_until < clock_timestamp() END, (SELECT k.found_at FROM gp_verification k "
    f"WHERE k.thread_id = th.id), EXISTS ({STOPPED_BY}), th.erasure, th.title FROM gp_thread th "
)


def thread_marks(thread_ids: Sequence[UUID]) -> dict[UUID, tuple[Any, ...]]:
    """{thread: a value that differs when its page has more to show}.

    The number of the newest event, and whether it waits for a worker suspiciously long: that
    writes no event, but people want to know. Since when its record is damaged, and whether a
    breaker stops it.
    """
    result = rows(f"{_MARKS}WHERE id = ANY(%s::uuid[])", (STANDSTILL_SECONDS, list(thread_ids)))
    return {ident: tuple(mark) for ident, *mark in result}


def thread_mark(thread_id: UUID) -> tuple[Any, ...] | None:
    """The mark of one thread, None where there is none.

    By key: the planner reuses its plan for that, and plans an ANY anew at each call.
    """
    result = rows(f"{_MARKS}WHERE id = %s::uuid", (STANDSTILL_SECONDS, thread_id))
    return tuple(result[0][1:]) if result else None


def ids_beginning(begins: str, *, workspace: UUID) -> list[UUID]:
    """Up to two threads whose ids begin with these hexadecimal digits and hyphens."""
    digits = begins.replace("-", "")[:32]
    low, high = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    result = rows(
        "SELECT id FROM gp_thread WHERE id BETWEEN %s::uuid AND %s::uuid "
        "AND workspace_id = %s::uuid AND id::text LIKE %s::text LIMIT 2",
        (low, high, workspace, f"{begins}%"),
    )
    return [ident for (ident,) in result]


def ids_named(name: str, *, workspace: UUID) -> list[UUID]:
    """Up to two threads of this name; it is unique per agent only."""
    deltas.check(name, "name")
    result = rows(
        "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid AND name = %s::varchar LIMIT 2",
        (workspace, name),
    )
    return [ident for (ident,) in result]


def in_workspace(thread_ids: Sequence[UUID], *, workspace: UUID) -> set[UUID]:
    """Those of these threads that lie in the workspace."""
    result = rows(
        "SELECT id FROM gp_thread WHERE id = ANY(%s::uuid[]) AND workspace_id = %s::uuid",
        (list(thread_ids), workspace),
    )
    return {ident for (ident,) in result}


def forks_of(thread_id: UUID) -> list[ThreadRow]:
    """Threads forked from any checkpoint of this one, newest first."""
    result = rows(
        THREAD + "WHERE th.forked_from IN (SELECT id FROM gp_checkpoint "
        "WHERE thread_id = %s::uuid) ORDER BY th.created_at DESC LIMIT 100",
        (thread_id,),
    )
    return [thread_of(r) for r in result]
