"""`python -m benchmarks.peers [--json] [--scale 0.1]`: the peers and Gatepost on the same task.

Each makes one thread of 1,000 steps that adds 1 KB per step, on the same server at F=0. A table
goes to stdout, or one JSON object; progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from .. import inside, parts, servers
from ..ground import median
from ..report import tidy
from ..rows import fork, state, thread
from ..servers import Bench
from . import environment

STEPS, SIZE = 1_000, 1_000
COLUMNS = {
    "steps_per_second": ("steps/s", 0),
    "megabytes": ("MB", 1),
    "growth": ("growth x10", 1),
    "read_middle_ms": ("read middle, ms", 2),
    "read_end_ms": ("read end, ms", 2),
    "fork_ms": ("fork, ms", 2),
    "fork_bytes": ("fork, bytes", 0),
    "write_transactions_per_step": ("write txn/step", 2),
}


def ours(bench: Bench, steps: int) -> dict[str, Any]:
    """The same figures of Gatepost: through Celery and a worker, then read and forked here."""
    with parts.worker(bench):
        for _ in range(parts.SLOTS * 2):
            thread.play(60, SIZE)
        bytes_before = inside.counted(inside.STORED)
        thread.play(steps // 10, SIZE)
        tenth = inside.counted(inside.STORED) - bytes_before
        bytes_before, xids = inside.counted(inside.STORED), inside.counted(inside.XMAX)
        played = thread.play(steps, SIZE)
        xids = inside.counted(inside.XMAX) - xids
        stored = inside.counted(inside.STORED) - bytes_before
        rates = [thread.times(thread.play(steps, SIZE)) for _ in range(3)]
    read = state.read_ms(played, [steps // 2, steps])
    before = inside.counted(inside.STORED)
    forks = fork.fork_ms(played, steps // 2)
    return {
        "steps_per_second": median([count / whole for count, whole, _ in rates]),
        "bytes": stored,
        "growth": stored / tenth,
        "write_transactions_per_step": xids / steps,
        "read_ms": read,
        "fork_ms": forks,
        "fork_bytes": (inside.counted(inside.STORED) - before) / fork.ROUNDS,
    }


def flat(results: dict[str, Any], steps: int) -> dict[str, Any]:
    """The figures of one system by the names of COLUMNS; None where it has none."""
    read = {int(step): ms for step, ms in (results.get("read_ms") or {}).items()}
    row = {name: results.get(name) for name in COLUMNS}
    row["megabytes"] = results["bytes"] / 1e6
    row["read_middle_ms"], row["read_end_ms"] = read.get(steps // 2), read.get(steps)
    return {name: tidy(value) for name, value in row.items()}


def main(arguments: Sequence[str]) -> int:
    """Measure all; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object in place of a table")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual steps")
    value = parser.parse_args(arguments)
    steps = max(100, int(STEPS * value.scale))
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    at = [steps // 2, steps]
    systems: dict[str, dict[str, Any]] = {}
    with servers.bench() as bench:
        for name, script, more in (
            ("LangGraph, full copies", "langgraph_task", {"delta": False, "at": at}),
            ("LangGraph, DeltaChannel", "langgraph_task", {"delta": True, "at": at}),
            ("DBOS", "dbos_task", {}),
        ):
            print(f"{name} ...", file=sys.stderr, flush=True)
            result = environment.ask(bench, script, steps=steps, size=SIZE, fork=True, **more)
            systems[name] = flat(result, steps)
        print("Gatepost ...", file=sys.stderr, flush=True)
        systems["Gatepost"] = flat(ours(bench, steps), steps)
    if value.json:
        print(json.dumps({"steps": steps, "size": SIZE, "systems": systems}), file=answers)
    else:
        print(table(systems, steps), file=answers)
    return 0


def table(systems: dict[str, dict[str, Any]], steps: int) -> str:
    """The figures as aligned text."""
    head = [f"{steps:,} steps of {SIZE:,} bytes", *(title for title, _ in COLUMNS.values())]
    lines = [head]
    for name, row in systems.items():
        cells = [
            "-" if row[key] is None else f"{row[key]:,.{digits}f}"
            for key, (_, digits) in COLUMNS.items()
        ]
        lines.append([name, *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
