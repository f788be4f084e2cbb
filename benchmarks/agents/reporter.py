"""python reporter.py COUNT NAME: a script under control by gatepost-client; prints its step times.

A process of its own, started by row 18. One line of JSON: begin and end of the work by the clock
of the machine, and the milliseconds of each step.
"""

from __future__ import annotations

import json
import sys
import time

from gatepost_client import agent, step

WARM_UP = 20
TEXT = "x" * 900


@step
def work(number: int) -> str:
    """A step that does nothing but end."""
    return f"{number} {TEXT}"


@agent("bench-reporting", thread="{name}")
def report(count: int, name: str) -> int:
    """Report so many steps one after the other."""
    times: list[float] = []
    began = 0.0
    for number in range(count + WARM_UP):
        before = time.perf_counter()
        if number == WARM_UP:
            began = time.time()
        work(number)
        times.append((time.perf_counter() - before) * 1000)
    print(json.dumps({"began": began, "ended": time.time(), "ms": times[WARM_UP:]}), flush=True)
    return count


if __name__ == "__main__":
    report(int(sys.argv[1]), sys.argv[2])
