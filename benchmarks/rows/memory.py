"""Row 24: recall from memory, and the index of the history.

Memories are recalled as a node recalls them: the vector of the question by HTTP from a server on
this machine that answers from a table, words and rights in PostgreSQL, both lists fused, the texts
read. Their vectors are random directions, which are the hardest to tell apart. Texts are words of
40,000, few of them frequent, as in texts. A product in float32 and a stored `tsvector` with its
index stand beside it in the same run.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from django.test import override_settings

from checkpoints import leases, store
from checkpoints.memories import KINDS, SCOPES, refs_in
from checkpoints.queries import Reach
from checkpoints.queries.history import passages
from checkpoints.vectors import configured
from checkpoints.vectors.stores import Search
from workers.language.nearest_memories import near_thread
from workers.step.memories import Memories

from ..ground import median, percentile, workspace
from ..log import Raw
from ..random_embeddings import direction, directions, embeddings
from ..report import Measured, tidy
from ..servers import Bench

import numpy as np  # isort: skip  (after the store, which says how many threads it takes)

ENTRIES: Final = 100_000
EVENTS: Final = 1_000_000
PER_THREAD: Final = 10_000
COMPARED: Final = 20_000
QUESTIONS: Final = 100
K: Final = 10

# A word of 40,000: the fourth power makes few of them frequent.
_WORDS = """(SELECT string_agg('w' || floor(40000 * power(random(), 4) + 0 * (n + k))::text, ' ')
  FROM generate_series(1, %(words)s) k)"""
_EVENTS = f"""
INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, data_hash, at,
                      prev_hash, hash)
SELECT %(thread)s::uuid, %(workspace)s::uuid, n, 'thought.recorded', 1, 'worker:1',
  jsonb_build_object('node', 'work', 'text', {_WORDS}), '', '', clock_timestamp(), '', ''
FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_MEMORIES = f"""
INSERT INTO gp_memory (id, workspace_id, scope, owner, kind, text, metadata, salt, outside, source,
                       author)
SELECT lpad(to_hex(n), 32, '0')::uuid, %(workspace)s::uuid,
  CASE WHEN n %% 2 = 0 THEN 'workspace' ELSE 'agent' END,
  CASE WHEN n %% 2 = 0 THEN '' ELSE 'bench-memory' END, 'fact', {_WORDS},
  '{{}}', '', false, 'agent', 'agent:bench-memory' FROM generate_series(1, %(entries)s::bigint) n
"""
_VECTORS = """
COPY gp_memory_vector (memory_id, workspace_id, model, vector, xid) FROM STDIN (FORMAT BINARY)
"""
_BASELINE = """
CREATE TABLE bench_words AS SELECT thread_id, seq,
  to_tsvector('english', data ->> 'text') AS words
FROM (SELECT * FROM gp_event WHERE kind = 'thought.recorded' LIMIT %s::bigint) e
"""


def measure(bench: Bench, scale: float) -> Measured:
    """Recall, then the index; printed beside them what both find and what the index takes."""
    raw = bench.connect()
    measured = Measured({}, details={"load": tidy(os.getloadavg()[0])})
    _recall(raw, max(2_000, int(ENTRIES * scale)), measured)
    _index(raw, max(2_000, int(EVENTS * scale)), measured)
    return measured


def _version() -> UUID:
    return store.announce_version(
        agent="bench-memory", version=1, fingerprint="bench", label="Memory", description="",
        schema_version=1, schema={"type": "object"}, channels={},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]},
        tools={}, queue="bench-nobody-listens",
    )  # fmt: skip


def _recall(raw: Raw, entries: int, measured: Measured) -> None:
    """Recall of a thread that reads all entries, half of them its agent's."""
    exact = directions(np.random.default_rng(7), entries)
    with embeddings() as model, override_settings(GATEPOST_EMBEDDINGS=model):
        _fill_memory(raw, exact, model)
        thread = store.start(_version(), input={}, workspace=workspace(), actor="bench:1")
        work = leases.acquire(thread, owner="worker:bench:1:00000000")
        if work is None:
            raise RuntimeError("the thread has no lease")
        ledger = Memories()

        def recall(question: str) -> None:
            more: dict[str, Any] = {"scopes": SCOPES, "kinds": KINDS, "person": ""}
            refs, why = ledger.recall(work, question, **more, limit=K, near=near_thread)
            if why or len(ledger.memory_texts(work, [*refs_in(refs)])) != K:
                raise RuntimeError(why or "a recall found too little")

        began = time.perf_counter()
        recall("w1")  # the process reads all vectors
        loaded = time.perf_counter() - began
        times = {name: _times(recall, words) for name, words in _questions().items()}
        same = 0
        reach = Reach(work.workspace, work.thread, work.agent)
        bare = []
        for question in _questions()["rare_and_common"]:
            query = direction(question)
            ids = {ident.int - 1 for ident, _ in near_thread(question, reach)[0][:K]}
            began = time.perf_counter()
            best = np.argpartition(-(exact @ query), K)[:K]
            bare.append((time.perf_counter() - began) * 1e3)
            same += len(ids & set(best.tolist()))
        search = Search(workspace(), direction("w1").tobytes(), K)
        vectors = _times(lambda _: configured.nearest(search, model=model), ["w1"] * QUESTIONS)
    p95 = {name: percentile(took, 0.95) for name, took in times.items()}
    slowest = max(p95, key=p95.__getitem__)
    measured.values["recall_p95_ms"] = p95[slowest]
    measured.baselines["recall_p95_ms"] = percentile(bare, 0.95)
    measured.details |= {
        "entries": entries,
        "recall_p50_ms": {name: tidy(median(took)) for name, took in times.items()},
        "recall_p95_ms": {name: tidy(value) for name, value in p95.items()},
        "vectors_p50_ms": tidy(median(vectors)),
        "recall_at_10": same / (K * QUESTIONS),
        "seconds_to_load": tidy(loaded),
    }


def _fill_memory(raw: Raw, exact: Any, model: str) -> None:
    values = {"workspace": workspace(), "entries": len(exact), "words": 60}
    with raw.transaction():
        row = raw.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
        raw.execute(_MEMORIES, values)
        with raw.cursor().copy(_VECTORS) as copy:
            copy.set_types(["uuid", "uuid", "varchar", "bytea", "int8"])
            for number, vector in enumerate(exact, 1):
                copy.write_row(
                    (UUID(int=number), workspace(), model, vector.tobytes(), row[0] if row else 0)
                )
    raw.execute("VACUUM ANALYZE gp_memory, gp_memory_vector")


def _index(raw: Raw, events: int, measured: Measured) -> None:
    """Fill the index from nothing and ask it; `bench_words` has the same texts in the usual way."""
    made = _fill_log(raw, events)
    compared = min(made, COMPARED)
    began = time.perf_counter()
    raw.execute(_BASELINE, (compared,))
    raw.execute("CREATE INDEX bench_words_gin ON bench_words USING gin (words)")
    plain = compared / (time.perf_counter() - began)
    began, added = time.perf_counter(), 0
    while n := store.index_history(seconds=5):
        added += n
    rate = added / (time.perf_counter() - began)
    scope = passages.Scope(workspace())
    times = {
        name: _times(lambda text: passages.find(text.split(), scope, limit=60), words)
        for name, words in _questions().items()
    }
    measured.values["indexed"] = rate
    measured.baselines["indexed"] = plain
    measured.ratios["indexed"] = rate / plain
    total, indexes = _sizes(raw, "gp_indexed_event")
    text, _ = _sizes(raw, "bench_words")
    measured.details |= {
        "events": added,
        "megabytes": round(total / 1e6, 1),
        "megabytes_of_indexes": round(indexes / 1e6, 1),
        "bytes_per_event": round(total / added),
        "baseline_bytes_per_event": round(text / compared),
        "found_p95_ms": {name: tidy(percentile(took, 0.95)) for name, took in times.items()},
    }


def _fill_log(raw: Raw, events: int) -> int:
    """Thoughts of a few long threads; how many there are."""
    version, made = _version(), 0
    while made < events:
        thread = store.start(version, input={}, workspace=workspace(), actor="bench:1")
        n = min(PER_THREAD, events - made)
        values = {"thread": thread, "workspace": workspace(), "first": 100, "last": 99 + n}
        raw.execute(_EVENTS, values | {"words": 150})
        made += n
    raw.execute("VACUUM ANALYZE gp_event")
    return made


def _questions() -> dict[str, list[str]]:
    """Questions of four words: of all words, and of the forty most frequent ones."""
    choose = random.Random(7)
    return {
        name: [
            " ".join(f"w{int(most * choose.random() ** 2)}" for _ in range(4))
            for _ in range(QUESTIONS)
        ]
        for name, most in (("rare_and_common", 40_000), ("common", 40))
    }


def _times(call: Callable[[str], Any], texts: Sequence[str]) -> list[float]:
    times = []
    for text in texts:
        began = time.perf_counter()
        call(text)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def _sizes(raw: Raw, table: str) -> tuple[int, int]:
    """(bytes of a table with its indexes, bytes of the indexes)."""
    row = raw.execute(
        "SELECT pg_total_relation_size(%s::regclass), pg_indexes_size(%s::regclass)", (table, table)
    ).fetchone()
    total, indexes = row or (0, 0)
    return int(total), int(indexes)
