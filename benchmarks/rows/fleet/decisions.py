"""Row 19: decisions and the inbox among 1,000,000 threads that wait, 100,000 of them for a person.

Gates are decided as row 8 does, over HTTP and one at a time: on an empty database, then among the
many. Worker and web server start anew in between.
"""

from __future__ import annotations

import time

from django.db import connection

from ... import inbox, parts
from ...ground import percentile
from ...report import Measured
from ...servers import Bench
from ..decision import Reviewer, decided
from .board import LOOKS, looked_at
from .fill import Raw, fill

THREADS = 1_000_000
DECISIONS = 200
BOXES = ("box=mine", "box=mine&sort=deadline", "box=open&sort=age", "box=due", "box=high")


def gates(bench: Bench, decisions: int) -> list[float]:
    """Milliseconds from the event of each decision to the first line of what was approved."""
    with parts.worker(bench), parts.web(bench) as port:
        reviewer = Reviewer(port)
        for _ in range(parts.SLOTS * 4):
            decided(reviewer, "bench-acting", "approve", None)
        return [
            decided(reviewer, "bench-acting", "approve", None)[0] * 1_000 for _ in range(decisions)
        ]


def pages(measured: Measured) -> None:
    """The whole inbox page of a reviewer, in its boxes and orders."""
    addresses = [f"approvals/?{box}" for box in BOXES]
    results = dict(looked_at(inbox.reviewer(), addresses, LOOKS))
    measured.values["inbox_p95_ms"] = max(p95 for p95, _, _ in results.values())
    measured.details["pages"] = {
        address: {"p95_ms": round(p95, 1), "p50_ms": round(p50, 1), "html_kb": round(size / 1e3, 1)}
        for address, (p95, p50, size) in results.items()
    }


def counted(raw: Raw) -> dict[str, int]:
    """Threads that wait, and open requests."""
    [row] = raw.execute(
        "SELECT (SELECT count(*) FROM gp_thread WHERE status = 'waiting'), "
        "(SELECT count(*) FROM gp_approval WHERE status = 'pending')"
    ).fetchall()
    return dict(zip(("waiting", "open_requests"), row, strict=True))


def measure(bench: Bench, scale: float) -> Measured:
    """Decide on the empty database, fill it, decide again, look at the inbox."""
    measured = Measured({})
    decisions = max(20, int(DECISIONS * scale))
    before = gates(bench, decisions)
    with bench.connect() as raw:
        began = time.monotonic()
        fill(raw, int(THREADS * scale), waiting=True)
        connection.close()  # its plans were made for empty tables
        measured.details["filling_s"] = round(time.monotonic() - began)
        measured.details |= counted(raw)
    after = gates(bench, decisions)
    usual = percentile(before, 0.5)
    measured.values["ratio_p99"] = percentile(after, 0.99) / usual
    measured.details["decisions"] = {
        "count": decisions,
        "empty_p50_ms": round(usual, 2),
        "empty_p99_ms": round(percentile(before, 0.99), 2),
        "p50_ms": round(percentile(after, 0.5), 2),
        "p99_ms": round(percentile(after, 0.99), 2),
    }
    pages(measured)
    return measured
