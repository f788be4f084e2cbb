"""`python -m benchmarks.log [--events 1000000]`: what a log of a million events costs.

One JSON line: size, insert and query times, and how fast `verify` goes through it, each beside a
raw baseline in the same run. The events are real ones: chained by the product's own function, and
verified.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from . import servers
from .ground import median, percentile, workspace
from .report import dumped, tidy

PER_THREAD = 1_000
TEXT = "A thought is about as long as this line, which says why an agent goes on as it does. " * 2

# A thread's log behind its first event: each row hashed as a step's statement would.
_FILL = """
WITH RECURSIVE made AS (
  SELECT th.last_seq AS seq, th.last_hash AS hash, NULL::bytea AS prev, NULL::text AS body,
         NULL::bytea AS salt, NULL::bytea AS digest, th.last_at AS at
  FROM gp_thread th WHERE th.id = %(thread)s::uuid
  UNION ALL
  SELECT m.seq + 1, gp_link(th.chain_id, m.seq + 1, 'thought.recorded', 1, 'worker:1', th.last_at,
         n.digest, m.hash), m.hash, n.body, n.salt, n.digest, th.last_at
  FROM made m JOIN gp_thread th ON th.id = %(thread)s::uuid
  CROSS JOIN LATERAL (SELECT b.body, s.salt, sha256(s.salt || convert_to(b.body, 'UTF8')) AS digest
    FROM (SELECT format('{"n":%%s,"text":"%%s"}', m.seq, %(text)s::text) AS body) b,
         (SELECT decode(md5(m.seq::text), 'hex') AS salt) s OFFSET 0) n
  WHERE m.seq < %(upto)s::bigint
), written AS (
  INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, data_hash, at,
                        prev_hash, hash)
  SELECT %(thread)s::uuid, %(workspace)s::uuid, seq, 'thought.recorded', 1, 'worker:1',
         body::jsonb, salt, digest, at, prev, hash FROM made WHERE prev IS NOT NULL
  RETURNING seq
)
UPDATE gp_thread SET last_seq = %(upto)s::bigint,
  last_hash = (SELECT hash FROM made ORDER BY seq DESC LIMIT 1)
WHERE id = %(thread)s::uuid AND (SELECT count(*) FROM written) > 0
"""
_SIZES = """
SELECT pg_total_relation_size('gp_event'), pg_table_size('gp_event'), pg_indexes_size('gp_event'),
       (SELECT count(*) FROM gp_event)
"""
_QUERIES = {
    "newest_50_of_a_thread": "SELECT seq, kind, actor, at, data::text FROM gp_event "
    "WHERE thread_id = %s::uuid ORDER BY seq DESC LIMIT 50",
    "next_100_after_a_number": "SELECT seq, kind, actor, at, data::text FROM gp_event "
    "WHERE thread_id = %s::uuid AND seq > 500 ORDER BY seq LIMIT 100",
    "one_event": "SELECT data::text FROM gp_event WHERE thread_id = %s::uuid AND seq = 700",
}


def fill(events: int) -> tuple[list[UUID], float]:
    """(threads, seconds) of a log with so many events."""
    from django.db import connection

    from checkpoints import store

    version = store.announce_version(
        agent="bench-log", version=1, fingerprint="bench", label="Log", description="",
        schema_version=1, schema={"type": "object"}, channels={},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]},
        tools={}, queue="bench-nobody-listens",
    )  # fmt: skip
    made = [
        store.start(version, input={}, workspace=workspace(), actor="bench:1")
        for _ in range(max(1, events // PER_THREAD))
    ]
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for thread in made:
            given = {"thread": thread, "workspace": workspace(), "upto": PER_THREAD, "text": TEXT}
            cursor.execute(_FILL, given)
        took = time.perf_counter() - began
        cursor.execute("VACUUM ANALYZE gp_event")
    return made, took


def timed(act: Callable[[], Any], times: int) -> dict[str, float]:
    """Milliseconds of so many calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append((time.perf_counter() - began) * 1e3)
    return {"p50_ms": tidy(median(found)), "p95_ms": tidy(percentile(found, 0.95))}


def inserts(bench: servers.Bench, threads: Sequence[UUID]) -> dict[str, Any]:
    """One chained event in a statement of its own, and a raw prepared INSERT of as many bytes."""
    from checkpoints import store
    from checkpoints.states import EventKind

    places, numbers = itertools.cycle(threads), itertools.count()

    def chained() -> None:
        data = {"n": next(numbers), "text": TEXT}
        store.add_event(next(places), store.NewEvent(EventKind.THOUGHT_RECORDED, data, "worker:1"))

    with bench.connect() as raw:
        raw.execute("CREATE TABLE bench_log (id bigint PRIMARY KEY, data jsonb, rest bytea)")
        text, rest, ids = json.dumps({"n": 1, "text": TEXT}), bytes(150), itertools.count()

        def plain() -> None:
            raw.execute("INSERT INTO bench_log VALUES (%s, %s, %s)", (next(ids), text, rest))

        timed(chained, 50), timed(plain, 50)
        return {"chained": timed(chained, 500), "raw": timed(plain, 500)}


def queries(threads: Sequence[UUID]) -> dict[str, Any]:
    """Reads as pages make them, each of another thread."""
    from django.db import connection

    found = {}
    with connection.cursor() as cursor:
        for name, sql in _QUERIES.items():
            places = itertools.cycle(threads)

            def read(sql: str = sql, places: Any = places) -> None:
                cursor.execute(sql, (next(places),))
                cursor.fetchall()

            timed(read, 50)
            found[name] = timed(read, 500)
    return found


def verified(threads: Sequence[UUID]) -> dict[str, Any]:
    """Events per second of verifying all of them; the baseline reads and hashes the same bytes."""
    from django.db import connection

    from dashboard.proof import verify

    began = time.perf_counter()
    n = 0
    for thread in threads:
        report = verify(thread, files=False)
        if not report.intact:
            raise RuntimeError(report.what)
        n += report.n_events
    took = time.perf_counter() - began
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for thread in threads:
            cursor.execute(
                "SELECT data::text, salt, hash, prev_hash FROM gp_event WHERE thread_id = %s::uuid "
                "ORDER BY seq",
                (thread,),
            )
            for data, salt, _hash, _prev in cursor:
                sha256(bytes(salt) + data.encode()).digest()
    raw = time.perf_counter() - began
    return {
        "events": n,
        "events_per_second": round(n / took),
        "read_and_hashed_per_second": round(n / raw),
        "seconds": tidy(took),
    }


def measure(bench: servers.Bench, events: int) -> dict[str, Any]:
    """All figures."""
    from django.db import connection

    threads, took = fill(events)
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        total, table, indexes, count = cursor.fetchone()
    return {
        "what": "a log of events: size, insert, queries, verification",
        "events": count,
        "threads": len(threads),
        "filled_per_second": round(count / took),
        "megabytes": {
            "total": round(total / 1e6, 1),
            "table": round(table / 1e6, 1),
            "indexes": round(indexes / 1e6, 1),
        },
        "bytes_per_event": round(total / count),
        "insert": inserts(bench, threads),
        "query": queries(threads),
        "verify": verified(threads),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N")
    given = parser.parse_args(arguments)
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    with servers.bench() as bench:
        print(dumped(measure(bench, given.events)), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
