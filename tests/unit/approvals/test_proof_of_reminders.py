"""Verifying covers how often people were reminded: each reminder is an event of the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from approvals import gates
from approvals.gates import reminders
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from approvals.verification.proof import verify
from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.carried import brought, empty, export

from .news import open_request

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _unguarded(db: None) -> Iterator[None]:
    """Somebody with all rights, past every trigger."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        yield
        cursor.execute("SET session_replication_role = DEFAULT")


@pytest.fixture
def waiting(cast: Cast) -> ApprovalRow:
    """Three reminders, of which two are due at once."""
    return open_request(cast, terms=Terms(reminders=(0.0, 0.001, 3600.0)))


def intact(row: ApprovalRow, reminded: int | None = None) -> bool:
    if reminded is not None:
        rows(
            "UPDATE gp_approval SET reminded = %s::smallint WHERE id = %s RETURNING 1",
            [reminded, row.id],
        )
    return verify(row.thread, files=False).intact


def test_a_reminder_is_an_event_and_its_number_is_held_against_the_row(
    waiting: ApprovalRow,
) -> None:
    assert intact(waiting)
    assert gates.remind_due() == 1
    (event,) = [e for e in queries.events_after(waiting.thread, 0) if e.kind == "approval.reminded"]
    assert event.data == {
        "approval": str(waiting.id),
        "title": waiting.title,
        "reminder": 2,
        "reminders": 3,
    }
    assert intact(waiting)
    # Set back people would be told twice, set on not at all.
    for wrong in (-1, 0, 1, 3, 4, 1000):
        assert not intact(waiting, wrong), wrong
    report = verify(waiting.thread, files=False)
    assert report.first_broken_seq == event.seq
    assert "how often people were reminded" in report.what
    assert intact(waiting, 2)
    gates.withdraw_open(waiting.thread, reason="edited", actor="user:1")
    assert intact(waiting)
    for wrong in (-1, 0, 1, 3, 1000):
        assert not intact(waiting, wrong), wrong


def test_of_a_request_without_reminders_none_was_sent(cast: Cast) -> None:
    row = open_request(cast)
    assert intact(row)
    for wrong in (-1, 1, 1000):
        assert not intact(row, wrong), wrong


def test_a_reminder_of_a_former_version_is_believed_where_it_was_due(
    waiting: ApprovalRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told the log nothing: in old logs, and while both versions are at work."""
    with monkeypatch.context() as former:
        former.setattr(reminders.store, "add_event", lambda *args: True)
        assert gates.remind_due() == 1
    assert store.add_event is reminders.store.add_event
    assert intact(waiting, 2)
    for wrong in (-1, 3, 4, 1000):
        assert not intact(waiting, wrong), wrong


def test_what_came_with_a_capsule_is_reminded_of_no_more(
    waiting: ApprovalRow, cast: Cast, tmp_path: Path
) -> None:
    assert gates.remind_due() == 1
    capsule = export(waiting.thread, tmp_path, who="operator")
    empty(agents=False)
    brought(capsule, who="operator")
    assert intact(waiting)
    for wrong in (-1, 1, 2, 3):
        assert not intact(waiting, wrong), wrong
