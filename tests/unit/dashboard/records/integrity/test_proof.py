"""Verifying covers every column: each one is altered in turn, past all guards, and found."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from approvals.verification.proof import verify
from checkpoints import store
from checkpoints.models import Thread
from checkpoints.states import (
    EventKind,
    Status,
)
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    head_of,
    make_thread,
    rows,
)
from tests.unit.workers.conftest import Bench

from .altered_columns import (  # noqa: F401
    FREE,
    NOT_OF_THREAD,
    OF_THREAD,
    TABLES,
    altered_rows,
    changes_of,
    columns_of,
    unguarded,
)

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[5]


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", TABLES)
def test_whatever_column_is_altered_is_found(table: str, lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    unseen, tried = [], set()
    for column, kind in columns_of(table):
        if (table, column) in FREE:
            continue
        for what in altered_rows(table, column, kind, thread):
            tried.add(column)
            report = verify(thread, files=False)
            if report.intact:
                unseen.append(what)
            else:
                assert report.first_broken_seq is not None  # a first event can be set to 0
                assert report.what.startswith(f"Event {report.first_broken_seq}: ")
    assert not unseen, sorted(set(unseen))
    covered = {column for column, _ in columns_of(table) if (table, column) not in FREE}
    assert tried == covered, "each column that is not free was altered at least once"


def test_each_column_of_the_thread_row_is_covered_or_said_not_to_be() -> None:
    columns = {field.column for field in Thread._meta.concrete_fields}
    assert not OF_THREAD & set(NOT_OF_THREAD)
    assert columns == OF_THREAD | set(NOT_OF_THREAD)


@pytest.mark.slow
@pytest.mark.requirement("E11")
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("column", sorted(OF_THREAD))
def test_what_the_log_tells_of_the_thread_row_is_found(
    column: str, lived: tuple[Bench, UUID]
) -> None:
    _, thread = lived
    kind = dict(columns_of("gp_thread"))[column]
    ((empty,),) = rows(f"SELECT {column} IS NULL FROM gp_thread WHERE id = %s", [thread])
    for change in changes_of("gp_thread", column, kind, empty=empty):
        with transaction.atomic():
            changed = rows(
                f"UPDATE gp_thread SET {column} = {change} WHERE id = %s "
                f"AND {column} IS DISTINCT FROM {change} RETURNING 1",
                [thread],
            )
            if not changed:
                continue
            report = verify(thread, files=False)
            assert not report.intact, change
            assert report.what.startswith(f"Event {report.first_broken_seq}: ")
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    ("leave_by", "waiting_on"),
    [
        (EventKind.THREAD_SUSPENDED, {"titles": ["Pay?"]}),
        (EventKind.THREAD_PARKED, {"kind": "person"}),
        (EventKind.THREAD_SLEPT, {"until": "later"}),
    ],
)
def test_what_a_thread_waits_for_is_not_taken_away(
    db: None, leave_by: EventKind, waiting_on: Any
) -> None:
    work = drive(make_thread(), 1).work
    more = {"wake_at_seconds": 60.0} if leave_by == EventKind.THREAD_SLEPT else {}
    store.leave(work, leave_by, waiting_on=waiting_on, **more)
    assert verify(work.thread).intact
    rows("UPDATE gp_thread SET waiting_on = NULL WHERE id = %s RETURNING 1", [work.thread])
    assert "what the thread waits for is not what the log records" in verify(work.thread).what


def test_an_edit_answers_what_a_thread_waits_for(db: None) -> None:
    work = drive(make_thread(), 1).work
    store.leave(work, EventKind.THREAD_PARKED, waiting_on={"kind": "person"})
    store.edit(work.thread, changes={"goal": "other"}, reason="better", actor="user:1")
    assert rows("SELECT status, waiting_on FROM gp_thread WHERE id = %s", [work.thread]) == [
        ("attention", None)
    ]
    assert verify(work.thread).intact


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("how", [EventKind.THREAD_SUCCEEDED, EventKind.THREAD_FAILED])
def test_a_thread_that_has_ended_keeps_its_end(db: None, how: EventKind) -> None:
    thread = make_thread()
    drive(thread, 2).step(leave_by=how)
    store.wake(thread, event=store.NewEvent(EventKind.THREAD_WOKEN, {}, "sweep"))  # moves nothing
    assert verify(thread, files=False).intact
    ended = how.rpartition(".")[2]
    for status in Status:
        rows("UPDATE gp_thread SET status = %s WHERE id = %s", [status, thread])
        report = verify(thread, files=False)
        assert report.intact == (status == ended)
        assert report.intact or "the thread's status" in report.what


@pytest.mark.usefixtures("unguarded")
def test_a_fork_is_bound_to_its_code_and_agent(db: None) -> None:
    base = make_thread()
    drive(base, 3)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OPERATOR, title="Other")
    drive(fork, 2)
    assert verify(fork, files=False).intact
    for change in ("agent = 'x'", "agent_version_id = gen_random_uuid()", "n_steps = 5"):
        with transaction.atomic():
            rows(f"UPDATE gp_thread SET {change} WHERE id = %s", [fork])
            assert "is not what the log records" in verify(fork, files=False).what
            transaction.set_rollback(True)


def test_the_free_columns_exist_and_are_published() -> None:
    text = (ROOT / "docs/howto/commands.md").read_text()
    for table, column in FREE:
        assert f"`{column}`" in text
        assert column in dict(columns_of(table)), f"{table}.{column} is free and does not exist"
