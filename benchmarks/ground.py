"""What the rows start from: a workspace, agents, threads, people."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import queries, store
from checkpoints.states import CANCELLABLE, FINISHED, Status

WORKSPACE = "bench"


def workspace() -> UUID:
    """The bench's workspace."""
    return store.ensure_workspace(WORKSPACE, actor="bench:1")


def version_of(agent: str) -> UUID:
    """The newest version of an agent that a worker has announced."""
    return queries.agent(agent).id


def start(agent: str, **input: Any) -> UUID:
    """A queued thread; its doorbell rings."""
    return store.start(
        version_of(agent), input=input, workspace=workspace(), actor="bench:1", title="bench"
    )


def wait_for(
    thread: UUID,
    *statuses: Status,
    seconds: float = 120,
    first_after: float = 0.0,
    every: float = 0.005,
) -> None:
    """Wait until the thread has one of these statuses; RuntimeError when it ended otherwise.

    Looks for the first time after `first_after` seconds and then `every` so many, so as not to
    take part in what is timed.
    """
    deadline = time.monotonic() + seconds
    time.sleep(first_after)
    while True:
        row = queries.thread(thread, workspace=workspace())
        if row.status in statuses:
            return
        if row.status in FINISHED or row.status is Status.ATTENTION:
            raise RuntimeError(f"the thread is {row.status}: {row.status_reason}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"the thread is still {row.status} after {seconds} s")
        time.sleep(every)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def clear() -> None:
    """Cancel what a row left unfinished: the next row's worker would go on with it."""
    unfinished = [str(status) for status in Status if status in CANCELLABLE]
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_thread WHERE status = ANY(%s::varchar[])", (unfinished,))
        left = [row[0] for row in cursor.fetchall()]
    for thread in left:
        store.cancel(thread, actor="bench:1", reason="the row is measured")
