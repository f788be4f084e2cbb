"""The text of the one statement that moves a thread; pure, made once per shape of a move.

psycopg keeps the translation of a statement only up to 4,096 bytes and 50 parameters, and
translating anew costs more than the round trip: parameters are therefore named, so that an event
and its hash share theirs, and a checkpoint takes over what the UPDATE has set.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from checkpoints.tables.columns import THREAD
from checkpoints.tables.listed import Columns

# The statement nests one level for each event, and the planner's work grows with their square:
# 1,500 took it 7 s, 2,000 more memory than a server gives.
EVENTS_AT_ONCE = 32
ALWAYS = ("workspace_id", "last_seq", "status", "queue")
_COLUMN_OF_T = re.compile(r"\bt\.([a-z_]+)")


@dataclass(frozen=True, slots=True, eq=False)
class RowSql:
    """A row of a table as SQL: its columns in order, %s for each value.

    Made once per kind of row and compared by identity: comparing the texts for each step would
    cost more than the rest of its preparation. `values` makes the parameters by their names.
    """

    table: str
    sql: Mapping[str, str]
    conflict: str = ""
    values: Any = field(init=False)

    def __post_init__(self) -> None:
        names = [name for name, sql in self.sql.items() if "%s" in sql]
        object.__setattr__(self, "values", namedtuple("values", names))


def row_sql(columns: Columns, sql: Mapping[str, str], conflict: str = "") -> RowSql:
    """A row of these columns: the SQL of some of them, a parameter for each other one."""
    columns.only(*sql)
    return RowSql(columns.table, {**columns.placeholders, **sql}, conflict)


def batched[T](events: Sequence[T]) -> list[list[T]]:
    """The events in the groups that one statement each can append."""
    starts = range(0, len(events), EVENTS_AT_ONCE)
    return [list(events[i : i + EVENTS_AT_ONCE]) for i in starts]


@lru_cache(maxsize=64)
def linked(versions: tuple[int, ...], *, continues: bool = False) -> str:
    """A sub-select of the UPDATE: (time, the hash before each event, the hash after the last).

    One level per event: side by side the planner would try their orders, 3 s for 20. OFFSET 0
    keeps it from merging the levels, which would work out a hash again wherever it is used.
    Events that continue a move have its time: a checkpoint and the event that names it may be in
    two parts.
    """
    at = "th.last_at" if continues else "clock_timestamp()"
    text = f"SELECT {at} AS at, ''::bytea AS before, th.last_hash AS h"
    for i, v in enumerate(versions, 1):
        text = (
            f"SELECT x.at, x.before || x.h AS before, gp_link(th.chain_id, th.last_seq + {i}, "
            f"%(k{i})s::text, {v}, %(a{i})s::text, x.at, %(d{i})s::bytea, x.h) AS h "
            f"FROM ({text} OFFSET 0) x"
        )
    return text


@lru_cache(maxsize=64)
def event_insert(versions: tuple[int, ...], *, of_workspace: bool = False) -> str:
    """The INSERT of chained events, given t as the UPDATE of their thread or workspace returned it.

    Parameters of event i: kind k, actor a, data j, salt s, hash d, each followed by i.
    """
    n = len(versions)
    table, owner, ids = (
        ("gp_workspace_event", "workspace_id", "t.id")
        if of_workspace
        else ("gp_event", "thread_id, workspace_id", "t.id, t.workspace_id")
    )
    # prev_hash joins the hashes before each event (`linked`), 32 bytes each: event i has its own at
    # 32 * i - 31, and its hash is the one before the next event.
    rows = " UNION ALL ".join(
        f"SELECT {ids}, t.last_at, t.last_seq - {n - i}, %(k{i})s::text, {v}, "
        f"%(a{i})s::text, %(j{i})s::jsonb, %(s{i})s::bytea, %(d{i})s::bytea, "
        f"substr(t.prev_hash, {32 * i - 31}, 32), "
        + ("t.last_hash" if i == n else f"substr(t.prev_hash, {32 * i + 1}, 32)")
        + " FROM t"
        for i, v in enumerate(versions, 1)
    )
    return (
        f"e AS (INSERT INTO {table} ({owner}, at, seq, kind, v, actor, data, "
        f"salt, data_hash, prev_hash, hash) {rows})"
    )


@lru_cache(maxsize=512)
def statement(
    head: RowSql | None,
    sets: tuple[tuple[str, str], ...],
    guard: str,
    versions: tuple[int, ...],
    inserts: tuple[RowSql, ...],
    updates: tuple[str, ...],
    returning: tuple[str, ...],
    unflushed: bool,
    continues: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """(the text for a move of this shape, the names of its parameters in order).

    The order: `head`, `sets`, the thread's id, guard, inserts, updates, then kind, actor, data,
    salt and hash of each event.
    """
    n = len(versions)
    assigned = [f"{column} = {sql}" for column, sql in head.sql.items()] if head else []
    assigned += [f"{column} = {sql}" for column, sql in sets]
    if n:
        # One sub-select for all three: the hashes are of the very time that is stored.
        assigned.append(
            f"(last_at, prev_hash, last_hash) = ({linked(versions, continues=continues)})"
        )
        assigned.append(f"last_seq = th.last_seq + {n}")
    begin, source, clause = "WITH ", "", ""
    if unflushed:
        # Saves one flush. After a crash of the server this move may be undone with all that
        # followed it; only leases may be written so, and each carries a random token.
        begin += "s AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS v), "
        source, clause = " FROM s", " AND s.v = 'off'"
    parts = [
        f"i{i} AS (INSERT INTO {row.table} ({', '.join(row.sql)}) "
        f"SELECT {', '.join(row.sql.values())} FROM t {row.conflict})"
        for i, row in enumerate(inserts)
    ]
    parts += [f"u{i} AS ({update})" for i, update in enumerate(updates)]
    if n:
        parts.append(event_insert(versions))
    # Only what is used further on: the row is wide, and each column of t costs.
    used = dict.fromkeys(_COLUMN_OF_T.findall(" ".join(parts)))
    used |= dict.fromkeys(column.partition("::")[0] for column in ALWAYS + returning)
    moved = (
        f"{begin}t AS (UPDATE gp_thread AS th SET {', '.join(assigned)}{source} WHERE th.id = "
        # Whatever a verb guards: nothing is written to a thread that an erasure has closed.
        f"%s::uuid AND th.erasure IS NULL AND ({guard}){clause} "
        f"RETURNING {', '.join(f'th.{c}' for c in used)})"
    )
    text = ", ".join([moved, *parts]) + f" SELECT {', '.join(ALWAYS + returning)} FROM t"
    pieces = text.split("%s")
    names = tuple(f"q{i}" for i in range(len(pieces) - 1))
    named = [f"%({name})s{piece}" for name, piece in zip(names, pieces[1:], strict=True)]
    of_events = tuple(f"{letter}{i}" for i in range(1, n + 1) for letter in "kajsd")
    return pieces[0] + "".join(named), names + of_events


@lru_cache(maxsize=64)
def thread_insert(
    columns: tuple[str, ...],
    defaults: tuple[tuple[str, str], ...],
    versions: tuple[int, ...],
    inserts: tuple[RowSql, ...],
) -> tuple[str, tuple[str, ...]]:
    """(the text that begins a thread with rows and events, the names of its parameters in order).

    `columns` have a value each, `defaults` the SQL of others. Together they name
    chain_id and last_hash, where its chain begins; last_seq comes of the events. The order:
    `columns`, inserts, then kind, actor, data, salt and hash of each event. No row comes back where
    the thread's name is taken.
    """
    n = len(versions)
    values = {name: f"%(b{i})s::{THREAD[name].type}" for i, name in enumerate(columns)}
    placed = dict(defaults) | values
    begun = (
        f"SELECT {placed.pop('chain_id')} AS chain_id, 0::bigint AS last_seq, "
        f"{placed.pop('last_hash')} AS last_hash"
    )
    placed = {"chain_id": "th.chain_id", **placed, "last_seq": f"{n}::bigint"}
    placed |= {"last_at": "x.at", "prev_hash": "x.before", "last_hash": "x.h"}
    parts = [
        f"i{i} AS (INSERT INTO {row.table} ({', '.join(row.sql)}) "
        f"SELECT {', '.join(row.sql.values())} FROM t {row.conflict})"
        for i, row in enumerate(inserts)
    ]
    events = event_insert(versions)
    used = dict.fromkeys(_COLUMN_OF_T.findall(" ".join([*parts, events])))
    used |= dict.fromkeys(ALWAYS)
    inserted = (
        f"WITH t AS (INSERT INTO gp_thread ({', '.join(placed)}) SELECT "
        f"{', '.join(placed.values())} FROM ({begun}) th, LATERAL ({linked(versions)}) x "
        f"ON CONFLICT DO NOTHING RETURNING {', '.join(used)})"
    )
    pieces = ", ".join([inserted, *parts, events]).split("%s")
    names = tuple(f"q{i}" for i in range(len(pieces) - 1))
    text = pieces[0] + "".join(
        f"%({name})s{piece}" for name, piece in zip(names, pieces[1:], strict=True)
    )
    of_columns = tuple(f"b{i}" for i in range(len(columns)))
    of_events = tuple(f"{letter}{i}" for i in range(1, n + 1) for letter in "kajsd")
    return f"{text} SELECT {', '.join(ALWAYS)} FROM t", of_columns + names + of_events
