"""`python -m benchmarks --rows 1,2,3 [--handicap MS] [--scale 0.1]`.

Exactly one JSON line per asked row goes to stdout, everything else to stderr; the exit code is 1
if any row is not ok. `--scale` makes counts smaller (or larger) for a quick look.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from . import handicap, servers
from .budgets import BUDGETS
from .report import Measured, dumped, failed, line

MODULES = {
    1: "step",
    2: "thread",
    3: "length",
    4: "size",
    5: "state",
    6: "fork",
    7: "timeline",
    8: "decision",
    9: "start",
    10: "clients",
    11: "fleet.board",
    12: "fleet.sockets",
    13: "hot",
    14: "up",
    15: "trees.children",
    16: "slots",
    17: "elsewhere.gateway",
    18: "elsewhere.reported",
    19: "fleet.decisions",
    20: "load",
    21: "looks",
    22: "rest",
    23: "first_start",
    24: "memory",
    25: "hosts",
}
ALONE = {14, 22, 23}  # starts servers of its own
# Fill a database that no other row may find: each in a process with servers of its own.
APART = {11, 19, 24, 25}


def main(arguments: Sequence[str]) -> int:
    """Measure the rows asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, MODULES)), help="such as 1,2,3")
    parser.add_argument("--handicap", type=float, default=0.0, help="ms to sleep in each write")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual counts")
    value = parser.parse_args(arguments)
    try:
        rows = [int(row) for row in value.rows.split(",") if row.strip()]
    except ValueError:
        parser.error("--rows takes numbers, such as 1,2,3")
    servers.clean_environment()
    more: dict[str, Any] = {}
    if value.handicap:
        os.environ[handicap.VARIABLE] = str(value.handicap)
        more["handicap_ms"] = value.handicap
    if value.scale < 1:
        more["scale"] = value.scale  # a fraction is a quick look and proves nothing
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever prints meanwhile
    good = True
    with ExitStack() as stack:
        bench: servers.Bench | None = None
        for row in rows:
            report(f"row {row}: {BUDGETS[row].what if row in BUDGETS else 'unknown'} ...")
            began = time.monotonic()
            try:
                if row in APART and len(rows) > 1:
                    result = _apart(row, value.scale)
                else:
                    if row in MODULES and row not in ALONE and bench is None:
                        bench = stack.enter_context(servers.bench())
                    result = line(row, _measure(row, bench, value.scale), **more)
            except Exception as error:
                result = failed(row, f"{type(error).__name__}: {error}", **more)
            finally:
                if bench is not None and row not in APART:
                    importlib.import_module(".ground", __package__).clear()
            good = good and result["ok"]
            report(f"row {row}: {time.monotonic() - began:.0f} s, {'ok' if result['ok'] else 'no'}")
            print(dumped(result), file=answers, flush=True)
    return 0 if good else 1


def _apart(row: int, scale: float) -> dict[str, Any]:
    """The line of a row that a process of its own measures."""
    command = [sys.executable, "-m", "benchmarks", f"--rows={row}", f"--scale={scale}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _measure(row: int, bench: servers.Bench | None, scale: float) -> Measured:
    if row not in MODULES:
        raise LookupError(f"there is no row {row}; there are {', '.join(map(str, MODULES))}")
    module = importlib.import_module(f".rows.{MODULES[row]}", __package__)
    measure: Callable[..., Measured] = module.measure
    return measure(scale) if row in ALONE else measure(bench, scale)


def report(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
