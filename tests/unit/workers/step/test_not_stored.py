"""A step that the database could not store says why, in words, and is worked again."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from checkpoints import leases
from checkpoints.records import Work
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import wordy
from workers.slot import loop


def refuse_checkpoints(code: str) -> None:
    """From now on the server answers each insert of a checkpoint with this SQLSTATE."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{code}'; END$$; "
            "CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON gp_checkpoint "
            "FOR EACH ROW EXECUTE FUNCTION refuse()"
        )


def take_checkpoints() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER refuse ON gp_checkpoint")


@pytest.fixture
def bench(real_db: str, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = bench_of(wordy)
    monkeypatch.setattr(loop, "agents", lambda: {"wordy": bench.agent})
    return bench


def take_over(thread: UUID) -> Work:
    work = leases.take_over(thread, owner="worker:next")
    assert work is not None
    return work


def test_a_full_disk_loses_the_slot_but_not_the_step(bench: Bench) -> None:
    thread = bench.start(what="thoughts", amount=3)
    work = bench.lease(thread)
    refuse_checkpoints("53100")
    loop.work_on(work)
    row = bench.row(thread)
    assert row.status is Status.RUNNING
    (lost,) = [e.data for e in bench.events(thread) if e.kind == "step.failed"]
    assert lost["error"].startswith("could not be stored: The database's disk is full.")
    take_checkpoints()
    loop.work_on(take_over(thread))
    assert bench.row(thread).status is Status.SUCCEEDED
    assert bench.intact(thread)


@pytest.mark.parametrize("code", ["54001", "22001", "23514"])
def test_a_step_that_the_database_refuses_fails_at_once_with_its_words(
    bench: Bench, code: str
) -> None:
    thread = bench.start(what="thoughts", amount=3)
    work = bench.lease(thread)
    refuse_checkpoints(code)
    loop.work_on(work)
    row = bench.row(thread)
    assert row.status is Status.FAILED
    assert row.status_reason.startswith("The database refuses what this step writes: ")
    assert "no room" in row.status_reason
    take_checkpoints()
    bench.retry(thread)
    loop.work_on(bench.lease(thread))
    assert bench.row(thread).status is Status.SUCCEEDED
