"""Logs of threads without their content: all that their chains are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.tables.readers import record_of

AT_ONCE = 2_000
_COLUMNS = "seq, kind, v, actor, at, data_hash, prev_hash, hash"


@dataclass(frozen=True, slots=True)
class LogRow:
    """The log of a thread as it is now: its chain, and the number and hash of its last event."""

    thread: UUID
    chain: UUID
    agent: str
    title: str
    last_seq: int
    last_hash: bytes


@dataclass(frozen=True, slots=True)
class LinkRow:
    """An event without its content: the hash, and all that is hashed."""

    seq: int
    kind: str
    v: int
    actor: str
    at: datetime
    data_hash: bytes
    prev_hash: bytes
    hash: bytes


def logs_of(threads: Sequence[UUID], *, workspace: UUID) -> list[LogRow]:
    """The logs of those of these threads that lie in the workspace, by their ids."""
    result = fetch_named(
        "SELECT id AS thread, chain_id AS chain, agent, title, last_seq, last_hash FROM gp_thread "
        "WHERE id = ANY(%s::uuid[]) AND workspace_id = %s::uuid ORDER BY id",
        (list(threads), workspace),
    )
    return [record_of(LogRow, row, last_hash=bytes) for row in result]


def links_of(logs: Sequence[LogRow]) -> Iterator[tuple[LogRow, Iterator[LinkRow]]]:
    """Each log with its events up to the last one, oldest first.

    A statement reads some short logs whole, or AT_ONCE events of a longer one.
    """
    short: list[LogRow] = []
    for log in logs:
        if short and sum(one.last_seq for one in short) + log.last_seq > AT_ONCE:
            yield from _whole(short)
            short = []
        if log.last_seq > AT_ONCE:
            yield log, _long(log)
        else:
            short.append(log)
    yield from _whole(short)


def _whole(logs: Sequence[LogRow]) -> Iterator[tuple[LogRow, Iterator[LinkRow]]]:
    if not logs:
        return
    result = fetch_named(
        f"SELECT thread_id, {_COLUMNS} FROM gp_event WHERE thread_id = ANY(%s::uuid[]) "
        "ORDER BY thread_id, seq",
        ([log.thread for log in logs],),
    )
    by_thread = {log.thread: log for log in logs}
    for thread, rows in groupby(result, key=attrgetter("thread_id")):
        log = by_thread[thread]
        # What was appended since the end was read is for the next export.
        yield log, (_link(row) for row in rows if row.seq <= log.last_seq)


def _long(log: LogRow) -> Iterator[LinkRow]:
    after = 0
    while True:
        result = fetch_named(
            f"SELECT {_COLUMNS} FROM gp_event WHERE thread_id = %s::uuid AND seq > %s::bigint "
            "AND seq <= %s::bigint ORDER BY seq LIMIT %s",
            (log.thread, after, log.last_seq, AT_ONCE),
        )
        for row in result:
            yield _link(row)
        if len(result) < AT_ONCE:
            return
        after = result[-1].seq


def _link(row: Any) -> LinkRow:
    return record_of(LinkRow, row, data_hash=bytes, prev_hash=bytes, hash=bytes)
