"""`python -m benchmarks.vectors [--entries 100000] [--numbers 384]`: vectors in process.

Random directions, which are the hardest to tell apart. The baseline is the exact product in
float32 of the same run. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from typing import Any
from uuid import UUID, uuid4

from checkpoints.vectors.in_process import InProcess
from checkpoints.vectors.stores import Entry, Search

import numpy as np  # isort: skip  (after the store, which says how many threads it takes)

K, QUERIES, AT_ONCE = 10, 100, 5_000


def measure(entries: int, numbers: int) -> dict[str, Any]:
    """Fill a store, ask it, and compare with the exact answer."""
    chance = np.random.default_rng(7)
    exact = chance.standard_normal((entries, numbers), np.float32)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    workspace = uuid4()
    ids = [UUID(int=n) for n in range(entries)]
    store = InProcess()
    begin = time.perf_counter()
    for start in range(0, entries, AT_ONCE):
        rows = range(start, min(start + AT_ONCE, entries))
        store.put(
            [
                Entry(ids[n], 1, workspace, f"agent:{n % 20}", "fact", exact[n].tobytes())
                for n in rows
            ]
        )
    filled = time.perf_counter() - begin
    everything, narrowed, bare, same = [], [], [], 0
    for _ in range(QUERIES):
        query = chance.standard_normal(numbers, np.float32)
        query /= np.linalg.norm(query)
        search = Search(workspace, query.tobytes(), K)
        begin = time.perf_counter()
        hits = store.search(search)
        everything.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        store.search(Search(workspace, query.tobytes(), K, owners={"agent:3"}))
        narrowed.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        scores = exact @ query
        best = np.argpartition(-scores, K)[:K]
        bare.append(time.perf_counter() - begin)
        same += len({hit.id.int for hit in hits} & set(best.tolist()))
    return {
        "what": "vectors in process",
        "entries": entries,
        "numbers": numbers,
        "fill_seconds": round(filled, 2),
        **_milliseconds("search", everything),
        **_milliseconds("one_of_20_owners", narrowed),
        **_milliseconds("float32_bare", bare),
        "recall_at_10": round(same / (K * QUERIES), 4),
        "load": os.getloadavg()[0],
    }


def _milliseconds(name: str, seconds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=20)
    return {f"{name}_p50_ms": round(cuts[9] * 1e3, 1), f"{name}_p95_ms": round(cuts[18] * 1e3, 1)}


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--numbers", type=int, default=384)
    options = parser.parse_args()
    print(json.dumps(measure(options.entries, options.numbers)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
