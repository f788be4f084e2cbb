"""Logs of threads without their content: all that their chains are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.tables.readers import record_of

AT_ONCE = 2_000


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
    """What is hashed of an event beside its content, and its hash."""

    seq: int
    kind: str
    v: int
    actor: str
    at: datetime
    data_hash: bytes
    prev_hash: bytes
    hash: bytes


def log_of(thread: UUID, *, workspace: UUID) -> LogRow | None:
    """The log of a thread; None where the workspace has none of that id."""
    result = fetch_named(
        "SELECT id AS thread, chain_id AS chain, agent, title, last_seq, last_hash "
        "FROM gp_thread WHERE id = %s::uuid AND workspace_id = %s::uuid",
        (thread, workspace),
    )
    return record_of(LogRow, result[0], last_hash=bytes) if result else None


def links(thread: UUID, *, upto: int) -> Iterator[LinkRow]:
    """The events of a thread up to a number, oldest first, a statement for each AT_ONCE."""
    after = 0
    while True:
        result = fetch_named(
            "SELECT seq, kind, v, actor, at, data_hash, prev_hash, hash FROM gp_event "
            "WHERE thread_id = %s::uuid AND seq > %s::bigint AND seq <= %s::bigint "
            "ORDER BY seq LIMIT %s",
            (thread, after, upto, AT_ONCE),
        )
        for row in result:
            yield record_of(LinkRow, row, data_hash=bytes, prev_hash=bytes, hash=bytes)
        if len(result) < AT_ONCE:
            return
        after = result[-1].seq
