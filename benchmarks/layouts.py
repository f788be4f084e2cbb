"""How a growing state could be stored: keyframes by weight, segments, full copies, side by side.

`python -m benchmarks.layouts [--scale 0.1]`: scratch tables on a server of the bench; one JSON line
per layout and task. The task `append` adds 1 KB to a list and sets two scalars a step; `overwrite`
sets a value of 20 KB anew. Bytes are those of the tables with indexes and TOAST; every layout must
read back the exact state. docs/adr has what came of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import psycopg

from checkpoints.queries.states import keyframes
from checkpoints.state import deltas

from . import servers
from .agents.growth import text
from .ground import median
from .report import dumped, tidy

LENGTHS, SEGMENT, READS = (100, 1_000, 10_000), 50, 7


def steps(task: str, n: int) -> list[dict[str, Any]]:
    """The deltas of a task."""
    if task == "append":
        return [
            {"append": {"log": [text(i, 800)]}, "set": {"n": i, "note": text(i, 150)}}
            for i in range(n)
        ]
    return [{"set": {"draft": text(i, 20_000), "n": i}} for i in range(n)]


class Layout:
    """Deltas one row each, in a table of its own; what else is kept is up to the layouts."""

    def __init__(self, link: psycopg.Connection[Any]) -> None:
        self.link = link
        self.folder = deltas.Folder({})
        link.execute("DROP TABLE IF EXISTS lay_delta")
        link.execute("DROP TABLE IF EXISTS lay_more")
        link.execute("CREATE TABLE lay_delta (number integer PRIMARY KEY, body jsonb NOT NULL)")
        link.execute("CREATE TABLE lay_more (number integer PRIMARY KEY, body text NOT NULL)")

    def step(self, number: int, delta: dict[str, Any]) -> None:
        """Commit one step, then whatever the layout keeps beside it."""
        body = deltas.canonical(delta).decode()
        self.link.execute("INSERT INTO lay_delta VALUES (%s, %s)", (number, body))
        self.folder.add(delta)
        self.keep(number, delta, len(body))

    def keep(self, number: int, delta: dict[str, Any], size: int) -> None:
        """After the commit of a step."""

    def more(self, number: int, body: Any) -> None:
        """Keep something beside the deltas."""
        raw = deltas.canonical(body).decode()
        self.link.execute("INSERT INTO lay_more VALUES (%s, %s)", (number, raw))

    def read(self, number: int) -> dict[str, Any]:
        """The state after a step, from one query."""
        rows = self.link.execute(
            "WITH k AS (SELECT max(number) AS at FROM lay_more WHERE number <= %(n)s) "
            "SELECT number, body, true FROM lay_more, k WHERE number = k.at UNION ALL "
            "SELECT d.number, d.body::text, false FROM lay_delta d, k "
            "WHERE d.number > coalesce(k.at, -1) AND d.number <= %(n)s",
            {"n": number},
        ).fetchall()
        rows.sort(key=lambda row: (row[0], not row[2]))
        base = deltas.decode(rows.pop(0)[1]) if rows[0][2] else {}
        return deltas.fold(base, (deltas.decode(row[1]) for row in rows), stored=True)

    def bytes(self) -> int:
        """All tables with indexes and TOAST."""
        row = self.link.execute(
            "SELECT pg_total_relation_size('lay_delta') + pg_total_relation_size('lay_more')"
        ).fetchone()
        assert row is not None
        return int(row[0])


class DeltasOnly(Layout):
    """Nothing beside the deltas."""


class Keyframes(Layout):
    """A full copy once the deltas since the last weigh as much as the state: the product's rule."""

    unfolded = rows = size = 0

    def keep(self, number: int, delta: dict[str, Any], size: int) -> None:
        self.unfolded += keyframes.weight(size)
        self.rows += 1
        grown = sum(len(deltas.canonical(v)) for v in delta.get("append", {}).values())
        fixed = sum(len(deltas.canonical(v)) for v in delta.get("set", {}).values())
        self.size = (self.size if "append" in delta else 0) + grown or fixed
        if keyframes.due(self.unfolded, self.rows, self.size):
            self.more(number, self.folder.state)
            self.unfolded = self.rows = 0


class EachFifty(Layout):
    """A full copy every 50 steps, as peers do it."""

    def keep(self, number: int, delta: dict[str, Any], size: int) -> None:
        if number % SEGMENT == SEGMENT - 1:
            self.more(number, self.folder.state)


class Segments(Layout):
    """Every 50 steps what they appended as one row, with all that is no list."""

    def __init__(self, link: psycopg.Connection[Any]) -> None:
        super().__init__(link)
        self.log: list[Any] = []

    def keep(self, number: int, delta: dict[str, Any], size: int) -> None:
        self.log += delta.get("append", {}).get("log", ())
        if number % SEGMENT == SEGMENT - 1:
            rest = {k: v for k, v in self.folder.state.items() if not isinstance(v, list)}
            self.more(number, {"append": {"log": self.log}, "set": rest})
            self.log = []

    def read(self, number: int) -> dict[str, Any]:
        last = number - (number + 1) % SEGMENT
        rows = self.link.execute(
            "SELECT number, body FROM lay_more WHERE number <= %(k)s UNION ALL "
            "SELECT number, body::text FROM lay_delta WHERE number > %(k)s AND number <= %(n)s",
            {"k": last, "n": number},
        ).fetchall()
        rows.sort(key=lambda row: row[0])
        state = deltas.fold({}, (deltas.decode(row[1]) for row in rows), stored=True)
        return {k: v for k, v in state.items() if v != []}


LAYOUTS = {
    "deltas only": DeltasOnly,
    "keyframes by weight": Keyframes,
    "segments of 50": Segments,
    "full copy every 50": EachFifty,
}


def measure(link: psycopg.Connection[Any], name: str, task: str, n: int) -> dict[str, Any]:
    """One layout on one task: bytes, what a step costs, what reading costs at four places."""
    layout = LAYOUTS[name](link)
    costs = []
    for number, delta in enumerate(steps(task, n)):
        began = time.perf_counter()
        layout.step(number, delta)
        costs.append(time.perf_counter() - began)
    expected = deltas.fold({}, steps(task, n))
    if layout.read(n - 1) != expected:
        raise RuntimeError(f"{name} does not read back what was written")
    read = {}
    for number in sorted({n // 10, n // 4, n // 2, n - 1}):
        times = []
        for _ in range(READS):
            began = time.perf_counter()
            layout.read(number)
            times.append(time.perf_counter() - began)
        read[str(number)] = tidy(median(times) * 1e3)
    return {
        "layout": name,
        "task": task,
        "steps": n,
        "bytes": layout.bytes(),
        "x_state": tidy(layout.bytes() / len(deltas.canonical(expected))),
        "step_ms": tidy(sum(costs) / n * 1e3),
        "longest_step_ms": tidy(max(costs) * 1e3),
        "read_ms": read,
    }


def main(arguments: Sequence[str]) -> int:
    """Measure all layouts; full copies are left out where they would take gigabytes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layouts", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual steps")
    value = parser.parse_args(arguments)
    servers.clean_environment()
    with servers.bench() as bench, bench.connect() as link:
        link.prepare_threshold = 5
        for task in ("append", "overwrite"):
            for length in LENGTHS if task == "append" else LENGTHS[:2]:
                n = max(60, int(length * value.scale))
                for name in LAYOUTS:
                    if name.startswith("full") and n > 2_000:
                        continue
                    print(dumped(measure(link, name, task, n)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
