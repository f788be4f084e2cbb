"""Row 7: fifty rows of a thread's past, as pages list them: no state is put together for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from checkpoints.queries.states import materialized
from dashboard.live import regions
from dashboard.threads.page.thread import ThreadPage

from ..ground import median, workspace
from ..report import Measured
from ..servers import Bench
from .state import STEPS, thread_of

ROWS, ROUNDS = 50, 41
REGION = "thread-events"


class Timeline(ThreadPage):
    """The thread's page with as many events as the budget names."""

    shown_events = ROWS


def readers(thread: UUID) -> dict[str, Callable[[], Any]]:
    """What answers fifty rows: the events of the thread's page, and its checkpoints."""
    return {
        "events": lambda: queries.events(thread, limit=ROWS, folded=True).rows,
        "checkpoints": lambda: queries.checkpoints(thread, limit=ROWS).rows,
    }


def statements(read: Callable[[], Any]) -> int:
    """How many statements a reader needs for its fifty rows."""
    with CaptureQueriesContext(connection) as seen:
        text = read()
    if len(text) != ROWS:
        raise RuntimeError(f"{len(text)} rows are not {ROWS}")
    return len(seen)


def server_ms(read: Callable[[], Any]) -> float:
    """What the database itself takes, as EXPLAIN ANALYZE says, planning left out."""
    times = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params, many, context)
        [[plan]] = context["cursor"].fetchall()
        times.append(plan[0]["Execution Time"])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        for _ in range(ROUNDS):
            read()
    return median(times)


def fragment(thread: UUID, owner: UUID) -> str:
    """The region of the thread's page in its workspace, through context function and template."""
    return regions.render(Timeline(owner, thread), REGION, frozenset({"operator"}))


@contextmanager
def materialised() -> Iterator[list[int]]:
    """Counts the states that are put together meanwhile."""
    counted: list[int] = []
    whole = materialized.materialise

    def count(*value: Any, **more: Any) -> Any:
        counted.append(1)
        return whole(*value, **more)

    materialized.materialise = count
    try:
        yield counted
    finally:
        materialized.materialise = whole


def figures(thread: UUID) -> Measured:
    """The worse of both readers, and the fragment of the events."""
    measured, owner = Measured({}), workspace()
    query = {name: statements(read) for name, read in readers(thread).items()}
    took = {name: server_ms(read) for name, read in readers(thread).items()}
    with materialised() as counted:
        for read in readers(thread).values():
            read()
        fragment(thread, owner)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        text = fragment(thread, owner)
        times.append(time.perf_counter() - began)
    with CaptureQueriesContext(connection) as seen:
        fragment(thread, owner)
    measured.values = {
        "queries": max(query.values()),
        "database_ms": max(took.values()),
        "fragment_ms": median(times) * 1e3,
        "states": len(counted),
    }
    measured.details["database"] = {name: round(ms, 3) for name, ms in took.items()}
    measured.details["fragment"] = {
        "rows": text.count("<tr id="),
        "bytes": len(text.encode()),
        "queries_of_the_whole_region": len(seen),
    }
    return measured


def measure(bench: Bench, scale: float) -> Measured:
    """On a thread of 1,000 steps, with the statistics that autovacuum keeps."""
    thread = thread_of(max(100, int(STEPS * scale)))
    with bench.connect() as server:
        server.execute("ANALYZE")
    return figures(thread)
