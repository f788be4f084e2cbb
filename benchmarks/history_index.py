"""`python -m benchmarks.history_index [--events 1000000]`: the index of the history.

One JSON line per figure: events a second that are added to the index and its size, beside a stored
`tsvector` with its index over the same texts in the same run; and the time of finding the events of
a question with rare and with common words. Events are thoughts of 150 words of 40,000, few of them
frequent, as in texts.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

from .ground import median, percentile, workspace
from .log import Raw, print_figures
from .report import tidy

PER_THREAD: Final = 10_000
QUESTIONS: Final = 100
INDEXED_BUDGET, FIND_BUDGET_MS = 2_000, 50

_FILL: Final = """
INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, data_hash, at,
                      prev_hash, hash)
SELECT %(thread)s::uuid, %(workspace)s::uuid, n, 'thought.recorded', 1, 'worker:1',
  jsonb_build_object('node', 'work', 'text', (
    SELECT string_agg('w' || floor(40000 * power(random(), 4) + 0 * (n + k))::text, ' ')
    FROM generate_series(1, 150) k)),
  '', '', clock_timestamp(), '', '' FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_BASELINE: Final = """
CREATE TABLE bench_words AS SELECT thread_id, seq,
  to_tsvector('english', data ->> 'text') AS words
FROM (SELECT * FROM gp_event WHERE kind = 'thought.recorded' LIMIT %s::bigint) e
"""


def filled(raw: Raw, events: int) -> int:
    """Events of a few long threads; how many there are."""
    from checkpoints import store

    version = store.announce_version(
        agent="bench-index", version=1, fingerprint="bench", label="Index", description="",
        schema_version=1, schema={"type": "object"}, channels={},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]},
        tools={}, queue="bench-nobody-listens",
    )  # fmt: skip
    made = 0
    while made < events:
        thread = store.start(version, input={}, workspace=workspace(), actor="bench:1")
        n = min(PER_THREAD, events - made)
        values = {"thread": thread, "workspace": workspace(), "first": 100, "last": 99 + n}
        raw.execute(_FILL, values)
        made += n
    raw.execute("VACUUM ANALYZE gp_event")
    return made


def measure(raw: Raw, events: int) -> Iterator[dict[str, Any]]:
    """All figures; `raw` is a connection of its own, in autocommit."""
    from checkpoints import store
    from checkpoints.queries.history import passages

    made = filled(raw, events)
    compared = min(made, 20_000)
    began = time.perf_counter()
    raw.execute(_BASELINE, (compared,))
    raw.execute("CREATE INDEX bench_words_gin ON bench_words USING gin (words)")
    plain = compared / (time.perf_counter() - began)
    began, added = time.perf_counter(), 0
    while n := store.index_history(seconds=5):
        added += n
    rate = added / (time.perf_counter() - began)
    total, indexes = _sizes(raw, "gp_indexed_event")
    text, _ = _sizes(raw, "bench_words")
    yield {
        "row": 24,
        "what": "events added to the index of the history",
        "value": tidy(rate),
        "unit": "events per second",
        "baseline": tidy(plain),
        "ratio": tidy(rate / plain),
        "budget": INDEXED_BUDGET,
        "ok": rate >= INDEXED_BUDGET,
        "events": added,
        "megabytes": round(total / 1e6, 1),
        "megabytes_of_indexes": round(indexes / 1e6, 1),
        "bytes_per_event": round(total / added),
        "baseline_bytes_per_event": round(text / compared),
    }
    raw.execute("VACUUM ANALYZE gp_indexed_event")
    scope = passages.Scope(workspace())
    choose = random.Random(7)
    for what, most in (("rare and common words", 40_000), ("common words", 40)):
        times = []
        for _ in range(QUESTIONS):
            words = [f"w{int(most * choose.random() ** 2)}" for _ in range(4)]
            began = time.perf_counter()
            passages.find(words, scope, limit=60)
            times.append((time.perf_counter() - began) * 1e3)
        p95 = percentile(times, 0.95)
        yield {
            "row": 24,
            "what": f"the events of a question, {what}",
            "value": tidy(median(times)),
            "unit": "ms",
            "baseline": None,
            "ratio": None,
            "budget": FIND_BUDGET_MS,
            "ok": p95 <= FIND_BUDGET_MS,
            "p95_ms": tidy(p95),
        }


def _sizes(raw: Raw, table: str) -> tuple[int, int]:
    """(bytes of a table with its indexes, bytes of the indexes)."""
    row = raw.execute(
        "SELECT pg_total_relation_size(%s::regclass), pg_indexes_size(%s::regclass)", (table, table)
    ).fetchone()
    total, indexes = row or (0, 0)
    return int(total), int(indexes)


if __name__ == "__main__":
    sys.exit(print_figures(measure, "history_index", __doc__))
