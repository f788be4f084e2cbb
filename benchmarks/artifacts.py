"""`python -m benchmarks.artifacts`: loading a checkpoint beside files of 1 KB, 10 MB and 1 GiB.

One JSON line in the form of the budget's rows: the slowest of the three loads against the one of
1 KB. What is read (statements, rows, blocks of the database, kB of files) must be the same for
all three to the last block; a plain SELECT of a value as large is the baseline.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from . import servers
from .ground import percentile, workspace
from .report import dumped, tidy

KB, MB, GIB = 1_000, 1_000_000, 1 << 30
SIZES: Mapping[str, int] = {"1 KB": KB, "10 MB": 10 * MB, "1 GiB": GIB}
PIECE = bytes(range(256)) * 4096
READS = 300
BUDGET = 1.2


def pieces(size: int) -> Iterator[bytes]:
    """A file of that size, a MiB at a time."""
    while size > 0:
        yield PIECE[:size]
        size -= len(PIECE)


def thread_with(size: int) -> tuple[UUID, str]:
    """(a thread whose state refers to a file of that size, where the bytes lie)."""
    from checkpoints import queries, store

    version = store.announce_version(
        agent="bench-artifacts", version=1, fingerprint="bench", label="Files", description="",
        schema_version=1, schema={"type": "object"},
        channels={"file": {"reducer": "last_value"}},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]},
        tools={}, queue="bench-nobody-listens",
    )  # fmt: skip
    ref = store.put_artifact(
        workspace(), name="data.bin", media_type="application/octet-stream", chunks=pieces(size)
    )
    # Each reference takes as many bytes: what is read must not differ by the length of a number.
    state = {"file": ref | {"size": f"{size:012}"}}
    thread = store.start(version, input=state, workspace=workspace(), actor="bench:1")
    return thread, queries.artifact(ref["$artifact"], workspace=workspace()).path


def load(thread: UUID, workspace_id: UUID) -> dict[str, Any]:
    """What a page and the API do to have the state at the head."""
    from checkpoints import queries

    row = queries.thread(thread, workspace=workspace_id)
    return queries.state_at(thread, row.head)


def touched(thread: UUID, workspace_id: UUID) -> dict[str, int]:
    """Statements, rows and blocks of the database, and kB of files, that one load reads."""
    from django.db import connection

    sent: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    load(thread, workspace_id)
    first, before = _file_bytes(), _file_bytes()
    load(thread, workspace_id)
    # Looking at the counter is a read of a few hundred bytes itself.
    from_files = _file_bytes() - before - (before - first)
    with connection.execute_wrapper(listen):
        load(thread, workspace_id)
    blocks = n_rows = 0
    with connection.cursor() as cursor:
        for sql, params in sent:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
            result = cursor.fetchone()[0]
            plan = (json.loads(result) if isinstance(result, str) else result)[0]["Plan"]
            blocks += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            n_rows += plan["Actual Rows"] * plan["Actual Loops"]
    return {
        "statements": len(sent),
        "rows": n_rows,
        "blocks": blocks,
        "file_kb": max(from_files, 0) // KB,
    }


def _file_bytes() -> int:
    """What this process has read from files so far, as the kernel counts; 0 where it does not."""
    counters = Path("/proc/self/io")
    return int(counters.read_text().split()[1]) if counters.exists() else 0


def timed(threads: Sequence[UUID], workspace_id: UUID, reads: int) -> list[float]:
    """Milliseconds of loads in turn: the fastest tenth of each, which others disturb least."""
    return [
        percentile(times, 0.1) * 1e3
        for times in _in_turn([_of(t, workspace_id) for t in threads], reads)
    ]


def _of(thread: UUID, workspace_id: UUID) -> Callable[[], Any]:
    return lambda: load(thread, workspace_id)


def _in_turn(acts: Sequence[Callable[[], Any]], reads: int) -> list[list[float]]:
    results: list[list[float]] = [[] for _ in acts]
    for n in range(reads + 10):
        for act, times in zip(acts, results, strict=True):
            began = time.perf_counter()
            act()
            if n >= 10:
                times.append(time.perf_counter() - began)
    return results


def measure(sizes: Mapping[str, int] = SIZES, reads: int = READS) -> dict[str, Any]:
    """The line, with what each load read."""
    from django.core.files.storage import default_storage
    from django.db import connection

    workspace_id = workspace()
    made = {name: thread_with(size) for name, size in sizes.items()}
    try:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE gp_thread, gp_checkpoint, gp_keyframe, gp_agent_version")
        threads = [thread for thread, _ in made.values()]
        reading = {name: touched(thread, workspace_id) for name, (thread, _) in made.items()}
        took = dict(zip(made, timed(threads, workspace_id, reads), strict=True))
        plain = percentile(_in_turn([_plain(threads[0])], reads)[0], 0.1) * 1e3
    finally:
        for _, path in made.values():
            default_storage.delete(path)
    least = next(iter(sizes))
    worst = max(took[name] / took[least] for name in took)
    same = len({tuple(sorted(item.items())) for item in reading.values()}) == 1
    return {
        "row": "B24",
        "what": f"loading a checkpoint beside files of {', '.join(sizes)}: the slowest",
        "value": tidy(worst),
        "unit": f"x the load beside {least}",
        "baseline": tidy(plain),
        "ratio": tidy(took[least] / plain),
        "budget": BUDGET,
        "ok": tidy(worst) <= BUDGET and same,
        "ms": {name: tidy(ms) for name, ms in took.items()},
        "read": reading,
        "read_is_the_same": same,
    }


def _plain(thread: UUID) -> Callable[[], Any]:
    from django.db import connection

    def read() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT delta::text FROM gp_checkpoint WHERE thread_id = %s", [thread])
            cursor.fetchall()

    return read


def main() -> int:
    """Measure and print the line; 1 if it is not ok."""
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    with servers.bench():
        result = measure()
    print(dumped(result), file=answers, flush=True)
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
