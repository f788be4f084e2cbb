"""`python -m benchmarks.plays [--runs N]`: plays of the author's Harness, each run a process.

Each run is a process without settings. It prints the first play, imports included, beside the bare
import of what an author imports, and the median of further plays, with the clock as it is and
moved by a minute. Exit code 1 where a median of the runs is beyond its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

# Seconds; a play in memory took 0.0044 s where these were measured.
LIMITS = {"first_play": 2.5, "further_play": 0.0244, "further_play_moved": 0.0244}
FURTHER = 40


def play() -> dict[str, float]:
    """Measure one process: this one, in which nothing is imported yet."""
    began = time.perf_counter()
    from gatepost import END, Context, Gate, Graph, Harness, State, tool

    imported = time.perf_counter() - began

    class Order(State):
        item: str = "tea"
        notes: list[str] = []

    @tool("bench.order", idempotent=True)
    def order(item: str, *, key: str) -> str:
        """Order it."""
        return item

    graph = Graph("bench", Order)

    @graph.node(then="buy")
    def gather(state: Order, ctx: Context) -> dict[str, list[str]]:
        return {"notes": [ctx.activity(str, state.item)]}

    @graph.node(then=END, gate=True)
    def buy(state: Order, ctx: Context) -> None:
        ctx.effect(order, {"item": state.item}, gate=Gate("Order it?"))

    def one(moved: float = 0) -> None:
        thread = Harness(graph).play()
        if moved:
            thread.pass_time(moved)
        assert thread.status == "waiting", thread

    one()
    first = time.perf_counter() - began
    return {
        "import": imported,
        "first_play": first,
        "further_play": _median(one),
        "further_play_moved": _median(lambda: one(60)),
    }


def _median(call: Callable[[], None]) -> float:
    times = []
    for _ in range(FURTHER):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> int:
    """Measure runs; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plays", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", action="store_true", help="measure this process alone")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(play()))
        return 0
    env = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    command = [sys.executable, "-m", "benchmarks.plays", "--one"]
    subprocess.run(command, env=env, check=True, capture_output=True)  # makes the template
    outputs = [subprocess.check_output(command, env=env, text=True) for _ in range(args.runs)]
    runs = [json.loads(output) for output in outputs]
    medians = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    for name, value in medians.items():
        limit = f", at most {LIMITS[name] * 1000:,.1f} ms" if name in LIMITS else ""
        print(f"{name:<20} {value * 1000:>8,.1f} ms{limit}")
    return 1 if any(medians[name] > limit for name, limit in LIMITS.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
