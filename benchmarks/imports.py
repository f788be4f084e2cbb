"""`python -m benchmarks.imports`: what a fresh process takes to import the public face.

One JSON line for each statement: the median wall and processor time of eleven runs in ms, beside
those of a Python that imports nothing, and the peak memory in MB. Bytecode is compiled before.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

RUNS = 11
NOTHING = "pass"
STATEMENTS = (NOTHING, "import pydantic", "import gatepost", "from gatepost import Context")
PEAK = """
import re
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def run(statement: str) -> tuple[float, float, int]:
    """(wall seconds, processor seconds, peak KiB) of one process."""
    before, began = os.times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", statement + PEAK], capture_output=True, text=True, check=True
    )
    wall, after = time.monotonic() - began, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system, int(done.stdout)


def main() -> None:
    """Print the lines; statements alternate, so that all see the same minutes."""
    results: dict[str, list[tuple[float, float, int]]] = {one: [] for one in STATEMENTS}
    for turn in range(RUNS + 1):
        for statement in STATEMENTS:
            taken = run(statement)
            if turn:  # the first one compiles
                results[statement].append(taken)
    for statement, taken_by_all in results.items():
        wall, spent, peak = map(statistics.median, zip(*taken_by_all, strict=True))
        line = {"wall_ms": round(wall * 1e3), "cpu_ms": round(spent * 1e3)}
        print(json.dumps({"what": statement, **line, "peak_mb": round(peak / 1024, 1)}))


if __name__ == "__main__":
    main()
