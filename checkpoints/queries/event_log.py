"""Events: catching up, lists by kind, the newest of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..states import FROM_OUTSIDE, WOKEN_FROM_OUTSIDE, EventKind
from ..tables import columns as tables
from ..tables.readers import Reader, record_of
from ..views import EventRow, InputRow, Page, SignalRow
from .rows import decoded, rows


def _reader(event: str, imported_seq: str) -> Reader[EventRow]:
    broken = (
        "SELECT coalesce(k.broken_seq, 0) FROM gp_verification k "
        f"WHERE k.thread_id = {event}.thread_id AND NOT k.intact"
    )
    return Reader(
        EventRow,
        tables.EVENT,
        alias=event,
        sql={
            "thread": "thread_id",
            "hash": f"encode({event}.hash, 'hex')",
            "prev_hash": f"encode({event}.prev_hash, 'hex')",
            "imported": f"{event}.seq <= {imported_seq}",
            "untrusted": f"coalesce({event}.seq >= ({broken}), false)",
        },
    )


event_of = _reader(
    "gp_event", "(SELECT th.imported_seq FROM gp_thread th WHERE th.id = gp_event.thread_id)"
)
EVENT = f"SELECT {event_of.select} FROM gp_event"
_RECENT = _reader("e", "th.imported_seq").select
SQL: Final = sql_file(__file__)
# Events that are searched for those of some kinds, and counted by noun.
SEARCHED = 5_000
COUNTED = 1_000
# Messages or signals that wait to be taken, of one thread.
NOT_TAKEN = 100


def steps_since_outside(thread: UUID, *, at_most: int) -> int:
    """Number of steps that a thread took since the last thing from outside, up to `at_most`."""
    result = rows(
        "SELECT count(*) FROM (SELECT 1 FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind = 'checkpoint.committed' AND data -> 'nodes' <> '[]' AND seq > coalesce(("
        "SELECT seq FROM gp_event WHERE thread_id = %s::uuid AND (kind = ANY(%s::text[]) "
        "OR kind = 'thread.woken' AND data ->> 'by' = ANY(%s::text[])) "
        "ORDER BY seq DESC LIMIT 1), 0) LIMIT %s::bigint) AS steps",
        (thread, thread, [str(k) for k in FROM_OUTSIDE], list(WOKEN_FROM_OUTSIDE), at_most),
    )
    return int(result[0][0])


def pause_reason(thread: UUID) -> str:
    """The reason that came with the last request for a pause; empty where there is none."""
    result = rows(
        "SELECT coalesce(data ->> 'reason', '') FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind = 'pause.requested' ORDER BY seq DESC LIMIT 1",
        (thread,),
    )
    return str(result[0][0]) if result else ""


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
    result = rows(
        f"{EVENT} WHERE thread_id = %s::uuid AND seq > %s::bigint {where}ORDER BY seq LIMIT %s",
        (*params, limit),
    )
    return [event_of(r) for r in result]


def has_stored(thread: UUID, sha256: str) -> bool:
    """Return whether the log of a thread names a file."""
    result = rows(
        "SELECT 1 FROM gp_event WHERE thread_id = %s::uuid AND kind = 'artifact.stored' "
        "AND data ->> 'sha256' = %s::text LIMIT 1",
        (thread, sha256),
    )
    return bool(result)


def event_of_checkpoint(thread_id: UUID, checkpoint_id: UUID) -> EventRow | None:
    """The event that proves a checkpoint: its commit, or the start of its thread."""
    result = rows(
        f"{EVENT} WHERE thread_id = %s::uuid AND kind IN ('checkpoint.committed', "
        "'thread.started', 'thread.forked') AND coalesce(data -> 'checkpoint' ->> 'checkpoint', "
        "data ->> 'checkpoint') = %s::text ORDER BY seq LIMIT 1",
        (thread_id, str(checkpoint_id)),
    )
    return event_of(result[0]) if result else None


def events(
    thread_id: UUID,
    *,
    kinds: Sequence[str] = (),
    before: int | None = None,
    limit: int = 50,
    folded: bool = False,
) -> Page[EventRow]:
    """Events newest first; `kinds` are whole kinds or nouns ("approval"); cursor = seq.

    `folded` shows of cursors kept in a row the newest. For it and for `kinds` at most SEARCHED
    events are looked at, however long the log is: a page may have fewer rows than asked for, or
    none, and still a cursor where the search continues.
    """
    if folded and not kinds:
        return _folded(thread_id, before, limit)
    if not kinds:
        raw = rows(
            f"{EVENT} WHERE thread_id = %s::uuid AND seq < %s::bigint ORDER BY seq DESC LIMIT %s",
            (thread_id, 2**62 if before is None else before, limit + 1),
        )
        results = tuple(event_of(r) for r in raw[:limit])
        return Page(results, str(results[-1].seq) if len(raw) > limit else "")
    if before is None:
        newest = rows("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (thread_id,))
        before = newest[0][0] + 1 if newest else 1
    low = max(before - SEARCHED, 1)
    raw = rows(
        f"{EVENT} WHERE thread_id = %s::uuid AND seq < %s::bigint AND seq >= %s::bigint AND "
        "(kind = ANY(%s::text[]) OR split_part(kind, '.', 1) = ANY(%s::text[])) "
        "ORDER BY seq DESC LIMIT %s",
        (thread_id, before, low, list(kinds), list(kinds), limit + 1),
    )
    results = tuple(event_of(r) for r in raw[:limit])
    if len(raw) > limit:
        return Page(results, str(results[-1].seq))
    return Page(results, str(low) if low > 1 else "")


def _folded(thread_id: UUID, before: int | None, limit: int) -> Page[EventRow]:
    """A page on which a long activity, which keeps a cursor each second, takes one line.

    Looked for here: as one statement the planner would rather read the whole log, or all logs.
    """
    # Also the event that the page before ended with: it may be the newest of those in a row.
    top = 2**62 if before is None else before + 1
    shown: list[tuple[Any, ...]] = []
    newer, looked, take = "", 0, limit + 2
    while True:
        raw = rows(
            f"{EVENT} WHERE thread_id = %s::uuid AND seq < %s::bigint ORDER BY seq DESC LIMIT %s",
            (thread_id, top, take),
        )
        for row in raw:
            _, top, kind, *_ = row
            if not (top == before or kind == newer == EventKind.CURSOR_KEPT):
                shown.append(row)
            newer = kind
        looked += len(raw)
        results = tuple(event_of(row) for row in shown[:limit])
        if len(shown) > limit:
            return Page(results, str(results[-1].seq))
        if len(raw) < take:
            return Page(results, "")
        if looked >= SEARCHED:
            return Page(results, str(top))
        take = min(take * 4, max(SEARCHED - looked, 1))


def changes_of(
    thread_ids: Sequence[UUID], kinds: Sequence[str], *, newest: int = COUNTED
) -> dict[UUID, list[tuple[str, datetime]]]:
    """{thread: (kind, time) of its events of these kinds, oldest first}, among its newest ones."""
    result = rows(
        "SELECT e.thread_id, e.kind, e.at FROM gp_thread th CROSS JOIN LATERAL (SELECT * FROM "
        "gp_event WHERE thread_id = th.id AND seq > th.last_seq - %s::bigint) e "
        "WHERE th.id = ANY(%s::uuid[]) AND e.kind = ANY(%s::text[]) ORDER BY e.thread_id, e.seq",
        (newest, list(thread_ids), list(kinds)),
    )
    changes: dict[UUID, list[tuple[str, datetime]]] = {thread: [] for thread in thread_ids}
    for thread, kind, at in result:
        changes[thread].append((kind, at))
    return changes


def event_kinds(thread_id: UUID, *, newest: int = COUNTED) -> dict[str, int]:
    """Count the thread's newest events by kind; no event before them is read."""
    result = rows(
        "SELECT kind, count(*) FROM gp_event WHERE thread_id = %s::uuid "
        "AND seq > (SELECT last_seq - %s::bigint FROM gp_thread WHERE id = %s::uuid) "
        "GROUP BY 1 ORDER BY 1",
        (thread_id, newest, thread_id),
    )
    return {r[0]: r[1] for r in result}


def recent_events(*, workspace: UUID, limit: int = 400) -> list[EventRow]:
    """The newest entries of the workspace's most recently moved threads, newest first.

    Of threads without a parent up to 10 each, of children 2: many of one parent displace nobody.
    Without kept cursors: where a call stands its progress shows.
    """
    newest = (
        "(SELECT x.id, x.imported_seq, x.last_seq FROM gp_thread x WHERE x.workspace_id = "
        "%s::uuid AND x.parent IS {} ORDER BY x.status_since DESC, x.id DESC LIMIT 30) th "
        "CROSS JOIN LATERAL (SELECT * FROM gp_event WHERE thread_id = th.id "
        "AND seq > th.last_seq - %s::bigint AND kind <> 'cursor.kept' "
        "ORDER BY seq DESC LIMIT {}) e"
    )
    tops, children = newest.format("NULL", 10), newest.format("NOT NULL", 2)
    both = f"SELECT {_RECENT} FROM {tops} UNION ALL SELECT {_RECENT} FROM {children}"
    result = rows(
        f"SELECT * FROM ({both}) y ORDER BY y.at DESC LIMIT %s",
        (workspace, COUNTED, workspace, COUNTED, limit),
    )
    return [event_of(r) for r in result]


def recorded_thoughts(thread_id: UUID, *, branch: int, step: int) -> set[tuple[str, int]]:
    """(node, ordinal) of the thoughts recorded so far at one step."""
    result = rows(
        "SELECT data ->> 'node', (data ->> 'ordinal')::integer FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'thought.recorded' AND seq > (SELECT "
        "coalesce(max(seq), 0) FROM gp_event WHERE thread_id = %s::uuid AND seq > (SELECT "
        "last_seq - 200 FROM gp_thread WHERE id = %s::uuid) AND kind = 'checkpoint.committed') "
        "AND (data ->> 'branch')::integer = %s::integer "
        "AND (data ->> 'step')::integer = %s::integer",
        (thread_id, thread_id, thread_id, branch, step),
    )
    return {(r[0], r[1]) for r in result}


def waiting_inputs(thread_id: UUID, *, limit: int = NOT_TAKEN) -> list[InputRow]:
    """Messages that the thread has received and not taken yet, oldest first."""
    return [record_of(InputRow, r, message=decoded) for r in _not_taken(thread_id, limit, "input")]


def waiting_signals(thread_id: UUID, *, name: str | None = None) -> list[SignalRow]:
    """Signals that the thread has received and not taken yet, oldest first; of one name or all."""
    result = _not_taken(thread_id, NOT_TAKEN, "signal", name)
    return [record_of(SignalRow, r, value=decoded) for r in result]


def not_taken(thread_id: UUID) -> tuple[list[InputRow], list[SignalRow]]:
    """Both, by one statement."""
    result = _not_taken(thread_id, NOT_TAKEN)
    inputs = [record_of(InputRow, r, message=decoded) for r in result if r.kind == "input"]
    return inputs, [record_of(SignalRow, r, value=decoded) for r in result if r.kind == "signal"]


def _not_taken(
    thread_id: UUID, limit: int, kind: str | None = None, name: str | None = None
) -> Any:
    """Rows of messages and signals, up to `limit` of either."""
    return fetch_named(SQL.not_taken, (thread_id, name, name, limit, kind, kind))
