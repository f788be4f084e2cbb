"""`python -m benchmarks.log [--events 1000000]`: what a log of a million events costs.

One JSON line per figure, in the form of the budget's rows: size, insert, reads, what is shown of a
thread's storage, verification, memory. The baseline is a plain table with the same bytes in the
same run. The events are real ones: chained by the product's own function, and verified. A tenth of
them is one thread's, the others have a thousand per thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

import psycopg

from . import servers
from .ground import median, percentile, workspace
from .report import dumped, tidy

type Raw = psycopg.Connection[Any]

EVENTS = 1_000_000  # what row A25 promises figures for
PER_THREAD = 1_000
AT_ONCE = 500
MEMORY_MIB = 64
TIMES = 500
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
# The same bytes without a chain: what any table takes for them.
_PLAIN = """
CREATE TABLE bench_log (thread uuid, seq bigint, data jsonb, rest bytea, PRIMARY KEY (thread, seq))
"""
_COPY = """
INSERT INTO bench_log SELECT thread_id, seq, data, salt || data_hash || prev_hash || hash
  || uuid_send(workspace_id) || timestamptz_send(at) || convert_to(kind || actor, 'UTF8')
FROM gp_event WHERE thread_id = %s
"""
_SIZES = "SELECT pg_total_relation_size(%s::regclass), pg_indexes_size(%s::regclass)"


def filled(raw: Raw, events: int) -> tuple[list[UUID], dict[str, float]]:
    """Threads, the longest first, with so many events in all; and rows per second of both logs."""
    from django.db import connection

    from checkpoints import store

    version = store.announce_version(
        agent="bench-log", version=1, fingerprint="bench", label="Log", description="",
        schema_version=1, schema={"type": "object"}, channels={},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]},
        tools={}, queue="bench-nobody-listens",
    )  # fmt: skip
    longest = max(events // 10, 2 * PER_THREAD)
    lengths = [longest] + [PER_THREAD] * ((events - longest) // PER_THREAD)
    made: list[UUID] = []
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for length in lengths:
            thread = store.start(version, input={}, workspace=workspace(), actor="bench:1")
            # Of a queued thread each event would also ring for a worker.
            store.pause(thread, actor="bench:1")
            made.append(thread)
            # In pieces: one statement holds the rows that it makes.
            for upto in range(PER_THREAD, length + 1, PER_THREAD):
                values = {"thread": thread, "workspace": workspace(), "upto": upto, "text": TEXT}
                cursor.execute(_FILL, values)
        took = time.perf_counter() - began
    raw.execute(_PLAIN)
    began = time.perf_counter()
    for thread in made:
        raw.execute(_COPY, (thread,))
    plain = time.perf_counter() - began
    for table in ("gp_event", "gp_thread", "gp_checkpoint", "bench_log"):
        raw.execute(f"VACUUM ANALYZE {table}")
    n = sum(lengths)
    return made, {"chained_per_second": round(n / took), "plain_per_second": round(n / plain)}


def timed(act: Callable[[], Any], times: int = TIMES) -> dict[str, float]:
    """Milliseconds of so many calls."""
    for _ in range(times // 10):
        act()
    results = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        results.append((time.perf_counter() - began) * 1e3)
    return {"p50_ms": median(results), "p95_ms": percentile(results, 0.95)}


def line(
    what: str,
    value: float,
    unit: str,
    baseline: float | None = None,
    *,
    budget: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One figure; what has no budget is ok once it is measured."""
    shown = tidy(value)
    return {
        "row": "A25",
        "what": what,
        "value": shown,
        "unit": unit,
        "baseline": tidy(baseline),
        "ratio": tidy(value / baseline) if baseline else None,
        "budget": budget,
        "ok": budget is None or shown <= budget,
        **{name: tidy(figure) for name, figure in more.items()},
    }


def size(raw: Raw, threads: Sequence[UUID], rates: dict[str, float]) -> dict[str, Any]:
    """Bytes per event on the disk, indexes and TOAST included."""
    total, indexes = raw.execute(_SIZES, ("gp_event", "gp_event")).fetchone() or (0, 0)
    plain, _ = raw.execute(_SIZES, ("bench_log", "bench_log")).fetchone() or (0, 0)
    [count] = raw.execute("SELECT count(*) FROM bench_log").fetchone() or (0,)
    return line(
        "size of the log",
        total / count,
        "bytes per event",
        plain / count,
        events=count,
        threads=len(threads),
        megabytes=round(total / 1e6, 1),
        megabytes_of_indexes=round(indexes / 1e6, 1),
        **rates,
    )


def insert(raw: Raw, threads: Sequence[UUID]) -> dict[str, Any]:
    """One chained event in a statement of its own, beside a raw prepared INSERT of its bytes."""
    from checkpoints import store
    from checkpoints.states import EventKind

    places, numbers = itertools.cycle(threads), itertools.count()
    text, rest = json.dumps({"n": 1, "text": TEXT}), bytes(150)

    def chained() -> None:
        data = {"n": next(numbers), "text": TEXT}
        store.add_event(next(places), store.NewEvent(EventKind.THOUGHT_RECORDED, data, "worker:1"))

    def plain() -> None:
        value = (next(places), -next(numbers), text, rest)
        raw.execute("INSERT INTO bench_log VALUES (%s, %s, %s, %s)", value)

    ours, theirs = timed(chained), timed(plain)
    return line(
        "one event added to the log",
        ours["p50_ms"],
        "ms",
        theirs["p50_ms"],
        p95_ms=ours["p95_ms"],
        baseline_p95_ms=theirs["p95_ms"],
    )


_READ = "SELECT seq, data::text, rest FROM bench_log WHERE thread = %s AND seq "


def reads(raw: Raw, threads: Sequence[UUID]) -> Iterator[dict[str, Any]]:
    """Reads as pages make them, each of another thread; the longest is one of them."""
    from checkpoints import queries

    wanted: dict[str, tuple[Callable[[UUID], Any], str]] = {
        "the newest 50 events of a thread": (
            lambda thread: queries.events(thread, limit=50, folded=True),
            _READ + "< 4611686018427387904 ORDER BY seq DESC LIMIT 50",
        ),
        "the next 100 events after a number": (
            lambda thread: queries.events_after(thread, 500, limit=100),
            _READ + "> 500 ORDER BY seq LIMIT 100",
        ),
        "one event by its number": (
            lambda thread: queries.events_after(thread, 699, limit=1),
            _READ + "= 700",
        ),
    }
    for what, (read, sql) in wanted.items():
        places = itertools.cycle(threads)
        ours = timed(lambda read=read, places=places: read(next(places)))  # type: ignore[misc]
        plain = timed(
            lambda sql=sql, places=places: raw.execute(sql, (next(places),)).fetchall()  # type: ignore[misc]
        )
        yield line(what, ours["p50_ms"], "ms", plain["p50_ms"], p95_ms=ours["p95_ms"])


def storage(raw: Raw, threads: Sequence[UUID]) -> dict[str, Any]:
    """What a thread takes, as its page and the API show it, for the longest; beside a count."""
    from checkpoints import queries

    longest = threads[0]
    ours = timed(lambda: queries.storage(longest), 50)
    counted = "SELECT count(*), sum(pg_column_size(data)) FROM bench_log WHERE thread = %s"
    plain = timed(lambda: raw.execute(counted, (longest,)).fetchall(), 5)
    result = queries.storage(longest)
    return line(
        "what the longest thread takes, as its page shows it",
        ours["p50_ms"],
        "ms",
        plain["p50_ms"],
        events=result.events,
        bytes=result.bytes,
    )


def verified(raw: Raw, threads: Sequence[UUID]) -> dict[str, Any]:
    """Events per second of verifying all threads; the baseline reads and hashes the same bytes."""
    from approvals.verification.proof import verify

    began = time.perf_counter()
    n = 0
    for thread in threads:
        report = verify(thread, files=False)
        if not report.intact:
            raise RuntimeError(report.what)
        n += report.n_events
    took = time.perf_counter() - began
    began = time.perf_counter()
    hashed = sum(_hashed(raw, thread) for thread in threads)
    plain = time.perf_counter() - began
    return line(
        "verification of all threads",
        n / took,
        "events per second",
        hashed / plain,
        events=n,
        seconds=took,
    )


def _hashed(raw: Raw, thread: UUID) -> int:
    seq, n = 0, 0
    while rows := raw.execute(
        f"{_READ}> %s ORDER BY seq LIMIT {AT_ONCE}", (thread, seq)
    ).fetchall():
        for _seq, data, rest in rows:
            sha256(rest + data.encode()).digest()
        n, seq = n + len(rows), rows[-1][0]
    return n


def peak() -> float:
    """The most memory that this process ever held, in MiB."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def measure(raw: Raw, events: int) -> Iterator[dict[str, Any]]:
    """All figures; `raw` is a connection of its own, in autocommit.

    Fewer events than the row promises are a quick look: its lines name no row.
    """
    for item in _figures(raw, events):
        yield item if events >= EVENTS else item | {"row": None}


def _figures(raw: Raw, events: int) -> Iterator[dict[str, Any]]:
    import approvals.verification.proof  # noqa: F401  (what it loads is not memory of the log)

    before = peak()
    threads, rates = filled(raw, events)
    yield size(raw, threads, rates)
    yield insert(raw, threads)
    yield from reads(raw, threads)
    yield storage(raw, threads)
    yield verified(raw, threads)
    yield line(
        "memory that all of this took beyond the start",
        peak() - before,
        "MiB",
        before,
        budget=MEMORY_MIB,
    )


def print_figures(
    measure: Callable[[Raw, int], Iterator[dict[str, Any]]], name: str, purpose: str | None
) -> int:
    """Measure with `--events N` and print a line per figure; 1 if one is not ok."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=purpose)
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N")
    value = parser.parse_args()
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    good = True
    with servers.bench() as bench, bench.connect() as raw:
        for item in measure(raw, value.events):
            good = good and item["ok"]
            print(dumped(item), file=answers, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(print_figures(measure, "log", __doc__))
