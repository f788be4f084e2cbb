"""What a step is compared with: one prepared INSERT of the same bytes on one warm connection."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any
from uuid import UUID, uuid4

from benchmarks.servers import Bench

# The row stays in one piece: a part of it moved to a TOAST table would make the baseline slower.
_CREATE = """
CREATE TABLE IF NOT EXISTS bench_raw (
  thread uuid, number integer, delta jsonb, first jsonb, second jsonb, rest bytea,
  PRIMARY KEY (thread, number)) WITH (toast_tuple_target = 8160)
"""
_INSERT = "INSERT INTO bench_raw VALUES (%s, %s, %s, %s, %s, %s)"


class RawInserts:
    """Rows as large as those of a step: its delta, its two events' data, and the other columns.

    `delta` and `events` are JSON texts; `rest` is the size of everything else in bytes.
    """

    def __init__(self, bench: Bench, *, delta: str, events: tuple[str, str], rest: int) -> None:
        self._connection = bench.connect()
        self._connection.execute(_CREATE)
        self._cursor = self._connection.cursor()
        self._thread: UUID = uuid4()
        self._numbers = itertools.count(1)
        self._delta, self._events = delta, events
        self._rest = os.urandom(rest)

    @classmethod
    def like_last_step(cls, bench: Bench, thread: UUID) -> RawInserts:
        """Rows with the bytes of the newest step of a thread, as its columns have them."""
        with bench.connect() as reader:
            row = reader.execute(
                "SELECT c.delta::text, pg_column_size(c.*) - pg_column_size(c.delta) FROM "
                "gp_checkpoint c WHERE c.thread_id = %s ORDER BY c.number DESC LIMIT 1",
                (thread,),
            ).fetchone()
            events = reader.execute(
                "SELECT e.data::text, pg_column_size(e.*) - pg_column_size(e.data) FROM "
                "gp_event e WHERE e.thread_id = %s ORDER BY e.seq DESC LIMIT 2",
                (thread,),
            ).fetchall()
        assert row is not None
        assert len(events) == 2
        rest = row[1] + events[0][1] + events[1][1]
        return cls(bench, delta=row[0], events=(events[0][0], events[1][0]), rest=rest)

    def insert(self) -> None:
        """One row, committed and flushed when this returns."""
        self._cursor.execute(
            _INSERT,
            (self._thread, next(self._numbers), self._delta, *self._events, self._rest),
            prepare=True,
        )

    def timed_insert(self) -> float:
        """One row; the seconds it took."""
        began = time.perf_counter()
        self.insert()
        return time.perf_counter() - began

    def rate(self, n: int) -> float:
        """Rows per second over `n` rows."""
        began = time.perf_counter()
        for _ in range(n):
            self.insert()
        return n / (time.perf_counter() - began)

    @property
    def row_bytes(self) -> int:
        """How large one row is as stored."""
        row: Any = self._cursor.execute(
            "SELECT pg_column_size(b.*) FROM bench_raw b LIMIT 1"
        ).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()
