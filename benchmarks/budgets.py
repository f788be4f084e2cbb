"""The budgets: the one place where they stand in code. A test compares it with docs/budgets.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

type Sense = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True)
class Part:
    """One figure of a row and its limit."""

    limit: float
    unit: str
    sense: Sense = "at most"

    def holds(self, value: float) -> bool:
        """Whether a measured value keeps the budget."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit

    def strain(self, value: float) -> float:
        """How much of the budget a value takes: 1.0 is all of it, more is too much."""
        if self.sense == "at most":
            return value / self.limit if self.limit else (0.0 if value <= 0 else float("inf"))
        return self.limit / value if value > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: what is measured, and the parts that must all hold.

    The names of parts end in `_f0` or `_f2` for the disk as it is and for one that takes 2 ms to
    flush.
    """

    what: str
    parts: Mapping[str, Part]


F2_MS: Final = 2.0

BUDGETS: Final[dict[int, Row]] = {
    1: Row(
        "commit of a step (1 KB delta, 2 chained events) against a raw prepared INSERT",
        {
            "round_trips": Part(1, "round trips per step"),
            "write_transactions": Part(1.05, "write transactions per step"),
            "ratio_f0": Part(2.2, "x raw INSERT"),
            "ratio_f2": Part(1.25, "x raw INSERT"),
        },
    ),
    2: Row(
        "1,000-step thread through Celery and the worker's own advance (+1 KB each)",
        {
            "rate_f0": Part(0.4, "x the rate of raw INSERTs", "at least"),
            "rate_f2": Part(0.8, "x the rate of raw INSERTs", "at least"),
        },
    ),
    3: Row(
        "the last 100 steps of a thread against its first 100 (0.5 KB each)",
        {
            "steps_1000": Part(1.2, "x the first 100"),
            "steps_10000": Part(1.2, "x the first 100"),
        },
    ),
    4: Row(
        "bytes for 1,000 steps of 1 KB, and their growth from 100 to 1,000 steps",
        {
            "bytes": Part(3.2, "MB"),
            "bytes_with_activity": Part(4.5, "MB"),
            "growth": Part(12, "x for 10 x the steps"),
            "growth_with_activity": Part(12, "x for 10 x the steps"),
        },
    ),
    5: Row(
        "state at any step of 1,000 (1 MB) beside LangGraph's full copies in the same run",
        {
            "queries": Part(1, "queries"),
            "ratio": Part(1.25, "x LangGraph's full-copy read"),
        },
    ),
    6: Row(
        "fork from the middle of threads of 100, 1,000 and 10,000 steps",
        {
            "write_transactions": Part(1, "write transactions"),
            "bytes": Part(3_072, "bytes in all tables"),
            "ms_f0": Part(1.2, "ms"),
            "more_ms_f2": Part(1.5, "ms more than a raw INSERT"),
        },
    ),
    7: Row(
        "50 timeline rows",
        {
            "queries": Part(1, "queries"),
            "database_ms": Part(1, "ms in the database"),
            "fragment_ms": Part(10, "ms"),
            "states": Part(0, "states materialised"),
        },
    ),
    8: Row(
        "decision's commit to the next line of the node, and from the HTTP request",
        {
            "p50_f0": Part(8, "ms"),
            "p95_f0": Part(25, "ms"),
            "p50_f2": Part(8 + F2_MS, "ms"),
            "p95_f2": Part(25 + F2_MS, "ms"),
            "http_p50_f0": Part(13, "ms"),
            "http_p50_f2": Part(13 + 2 * F2_MS, "ms"),
            "held": Part(0, "leases, tasks and transactions held meanwhile"),
        },
    ),
    9: Row(
        "start's commit to the first line of the first node",
        {
            "p50_f0": Part(8, "ms"),
            "p50_f2": Part(8 + F2_MS, "ms"),
        },
    ),
    10: Row(
        "32 clients of pgbench on the statement of commit_step, each on a thread of its own",
        {"ratio_f2": Part(20, "x one client", "at least")},
    ),
    11: Row(
        "lists with 1,000,000 threads and 10,000,000 events, the overview as a workspace grows",
        {
            "list_p95_ms": Part(80, "ms"),
            "html_kb": Part(60, "KB"),
            "counts_ms": Part(10, "ms in the database"),
            "keyset_ms": Part(1, "ms in the database"),
            "overview": Part(1.5, "x with 1,000 threads"),
        },
    ),
    12: Row(
        "1,000 sockets of one web server, one of them not reading",
        {
            "p50": Part(2.5, "x a bare server"),
            "p99_more_ms": Part(10, "ms more than 4 x the p50 of a bare server"),
            "deliveries": Part(0.4, "x a bare server", "at least"),
            "reads": Part(1.2, "x the statements for one socket"),
            "bytes": Part(1_500, "bytes per event and socket"),
        },
    ),
    13: Row(
        "hot store, `appendfsync always`: appends beside the drain, the drain, steps of an agent",
        {
            "appends": Part(5_000, "entries/s", "at least"),
            "append_p99": Part(3, "ms"),
            "drain": Part(10_000, "entries/s", "at least"),
            "steps": Part(3_000, "steps/s on one slot", "at least"),
        },
    ),
    14: Row(
        "`make up`, second start",
        {
            "ready": Part(4, "s"),
            "stopped": Part(3, "s"),
            "orphans": Part(0, "processes left after SIGKILL"),
        },
    ),
    15: Row(
        "10,000 children of one parent: started, worked, joined (trivial agent)",
        {
            "last": Part(1.3, "x the first"),
            "child": Part(3, "x a plain thread"),
            "writes": Part(1, "writes of the parent per batch of started children"),
        },
    ),
    16: Row(
        "many threads on 32 slots of the default pool, committed steps per second, against DBOS",
        {
            "ratio_f0": Part(2.5, "x DBOS", "at least"),
            "ratio_f2": Part(2.5, "x DBOS", "at least"),
        },
    ),
    17: Row(
        "an allowed call through the MCP gateway against the same call without it, 100 a second",
        {
            "more_p50": Part(6, "ms more"),
            "more_p99": Part(20, "ms more"),
        },
    ),
    18: Row(
        "a step reported through the HTTP API by gatepost-client",
        {
            "p50_f0": Part(10, "ms"),
            "p50_f2": Part(10 + F2_MS, "ms"),
            "rate": Part(300, "steps/s from 8 clients", "at least"),
        },
    ),
    19: Row(
        "1,000,000 waiting threads, 100,000 open requests: a decision to the next line, the inbox",
        {
            "ratio_p99": Part(10, "x row 8's p50"),
            "inbox_p95_ms": Part(100, "ms"),
        },
    ),
    20: Row(
        "a load of the board, the inbox and a thread in all: HTML and first frames, compressed",
        {
            "board_bytes": Part(12_000, "bytes"),
            "inbox_bytes": Part(12_000, "bytes"),
            "thread_bytes": Part(12_000, "bytes"),
            "twice": Part(0, "regions sent twice"),
        },
    ),
    21: Row(
        "the page of a thread of 10,000 steps (5 MB of state), and 300 looks at it",
        {
            "ratio": Part(1.5, "x the page of a thread of 100 steps"),
            "memory_mb": Part(250, "MB of the web process"),
        },
    ),
    22: Row(
        "`make up` at rest: memory of all processes (PSS), share of a core",
        {
            "memory_mb": Part(350, "MB"),
            "processor_percent": Part(0.5, "% of a core"),
        },
    ),
    23: Row(
        "`make up` in a fresh clone, packages cached",
        {
            "ready": Part(12, "s"),
            "tables": Part(4, "s"),
        },
    ),
    24: Row(
        "recall from memory at 100,000 entries (words and vectors), 1,000,000 events indexed",
        {
            "recall_p95_ms": Part(50, "ms"),
            "indexed": Part(2_000, "events/s", "at least"),
        },
    ),
    25: Row(
        "four hosts of 8 slots against one; 100,000 queued threads beside a quiet workspace",
        {
            "hosts": Part(3, "x one host", "at least"),
            "neighbour": Part(1.2, "x the same threads alone"),
        },
    ),
}
