"""Children end while their parent is being left, and several workers are at it: all go on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from checkpoints import leases
from checkpoints.records import Work
from workers.engine.engine import Engine
from workers.step.ledger import DatabaseLedger

from .conftest import HEART, Fleet


class Slow(DatabaseLedger):
    """A worker beside whom children end, right before or right after it leaves their parent."""

    def __init__(self, fleet: Fleet, when: str) -> None:
        super().__init__()
        self._fleet, self._when = fleet, when

    def leave(self, work: Work, by: Any, **more: Any) -> bool:
        if self._when == "before":
            self._end_children(work.thread)
        left = super().leave(work, by, **more)
        if self._when == "after":
            self._end_children(work.thread)
        return left

    def _end_children(self, thread: UUID) -> None:
        for child in self._fleet.children(thread):
            self._fleet.work_on(child)


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_last_child_ends_while_its_parent_is_left(fleet: Fleet, when: str) -> None:
    thread = fleet.start("lead", files=["a", "b"])
    work = leases.acquire(thread, owner="worker:slow")
    assert work is not None
    ledger: Any = Slow(fleet, when)
    Engine(fleet.agents["lead"], ledger, HEART, lambda: False).advance(work)
    assert fleet.row(thread).status == "queued"  # nobody has swept
    fleet.work()
    assert fleet.state(thread)["texts"] == ["A", "B"]


@pytest.mark.slow
def test_many_workers_at_once_wake_every_parent(fleet: Fleet) -> None:
    """Ten parents of six children, four workers, no sweep: each parent goes on, no child twice."""
    files = [f"f{n}" for n in range(6)]
    leads = [fleet.start("mapping", files=files, at_most=2 if n % 2 else None) for n in range(10)]

    def work(_: int) -> None:
        try:
            idle = 0
            while idle < 50:
                queued = fleet.queued()
                took = any(fleet.work_on(thread) for thread in queued[:3])
                idle = 0 if took or queued else idle + 1
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    for thread in leads:
        assert fleet.row(thread).status == "succeeded"
        assert fleet.state(thread)["texts"] == [file.upper() for file in files]
        assert len(fleet.children(thread)) == len(files)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_thread")
        assert cursor.fetchone()[0] == 10 * 7
        cursor.execute("SELECT kind, count(*) FROM gp_wake GROUP BY kind")
        assert cursor.fetchall() == []
    fleet.verify()
