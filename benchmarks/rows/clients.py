"""Row 10: the very statement of `commit_step` from 32 clients of pgbench, beside one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from checkpoints import store
from checkpoints.postgres import statements
from dashboard.operate.embedded.process.folders import folders
from dashboard.operate.embedded.process.library import postgres_programs

from ..budgets import F2_MS
from ..report import Measured
from ..servers import Bench
from . import step

CLIENTS, SECONDS = 32, 8
# Ids that pgbench can make: it counts, and that is all it can do.
_ID = "lpad(to_hex({}), 32, '0')::uuid"
_HEAD, _NEXT = _ID.format(":n::integer"), _ID.format(":n::integer + 1")
_THREAD = _ID.format(":first::integer + :client_id::integer")

type Captured = tuple[str, Mapping[str, Any]]


@contextmanager
def _captured() -> Iterator[list[Captured]]:
    """What goes to the server meanwhile, as the store sends it."""
    seen: list[Captured] = []
    real = statements.send

    def look(text: str, values: Mapping[str, Any], *database: BaseDatabaseWrapper | None) -> Any:
        seen.append((text, values))
        return real(text, values, *database)

    statements.send = look
    try:
        yield seen
    finally:
        statements.send = real


def script() -> tuple[str, UUID]:
    """(the statement for pgbench, the thread that it was written down from).

    Ids and numbers count up with `n`; all else stays as it was in the last of a few real steps.
    """
    steps = step.steps()
    for _ in range(3):
        work, checkpoint, thought = next(steps)
        head, number = work.head, work.number
        with _captured() as seen:
            store.commit_step(work, checkpoint, before=[thought])
    [(text, values)] = seen
    counted = {head: _HEAD, checkpoint.id: _NEXT, work.thread: _THREAD}
    numbers = {number: "(:n::integer)", number + 1: "(:n::integer + 1)"}

    def written(match: re.Match[str]) -> str:
        value = values[match[1]]
        if isinstance(value, UUID):
            return counted.get(value, f"'{value}'")
        if type(value) is int:
            return numbers.get(value, str(value))
        return _literal(value)

    result = re.sub(r"%\((\w+)\)s", written, text).replace("%%", "%")
    return f"\\set n :n + 1\n{' '.join(result.split(chr(10)))};\n", work.thread


def _literal(value: Any) -> str:
    """A value as SQL without a colon, since `:bench` would be a variable of pgbench."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    escaped = str(value).replace("\\", "\\\\").replace("'", "''").replace(":", "\\x3a")
    return f"E'{escaped}'"


def make_threads(like: UUID, first: int, count: int) -> None:
    """Leased threads beside `like`, whose ids and heads are numbers."""
    made, head = _ID.format("n"), _ID.format("1")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_thread SELECT (jsonb_populate_record(NULL::gp_thread, to_jsonb(th) "
            f"|| jsonb_build_object('id', {made}, 'chain_id', {made}, 'head', {head}, "
            "'number', 1, 'step', 1))).* "
            "FROM gp_thread th, generate_series(%s::integer, %s::integer) n WHERE th.id = %s",
            (first, first + count - 1, like),
        )


def rate(bench: Bench, path: Path, *, first: int, clients: int, seconds: int) -> float:
    """Committed statements per second; each has moved its thread on by one checkpoint."""
    command = [
        str(postgres_programs(folders(bench.data)) / "pgbench"),
        bench.address,
        "--no-vacuum",
        "--protocol=prepared",
    ]
    command += [f"--client={clients}", f"--jobs={min(clients, 2)}", f"--time={seconds}"]
    command += [f"--file={path}", "--define=n=0", f"--define=first={first}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    match = re.search(r"transactions actually processed: (\d+)", done.stdout)
    per_second = re.search(r"tps = ([\d.]+)", done.stdout)
    if match is None or per_second is None:
        raise RuntimeError(f"pgbench said {done.stdout} {done.stderr}")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM gp_checkpoint WHERE thread_id >= {_ID.format('%s::integer')} "
            f"AND thread_id < {_ID.format('%s::integer')}",
            (first, first + clients),
        )
        [written] = cursor.fetchone()
    if written != int(match[1]):
        raise RuntimeError(f"{match[1]} statements wrote {written} checkpoints")
    return float(per_second[1])


def measure(bench: Bench, scale: float) -> Measured:
    """Steps per second of 32 clients against one, each on a thread of its own."""
    seconds = max(1, int(SECONDS * scale))
    text, thread = script()
    path = bench.data / "commit_step.sql"
    path.write_text(text)
    measured = Measured({})
    first = 1_000
    for name, flush in (("f0", 0.0), ("f2", F2_MS)):
        bench.flush_takes(flush)
        payload = {}
        for clients in (1, CLIENTS):
            make_threads(thread, first, clients)
            payload[clients] = rate(bench, path, first=first, clients=clients, seconds=seconds)
            first += clients
        measured.details[f"steps_per_second_{name}"] = {
            str(n): round(r) for n, r in payload.items()
        }
        if name == "f2":
            measured.values["ratio_f2"] = payload[CLIENTS] / payload[1]
            measured.baselines["ratio_f2"] = payload[1]
            measured.ratios["ratio_f2"] = payload[CLIENTS] / payload[1]
    bench.flush_takes(0)
    return measured
