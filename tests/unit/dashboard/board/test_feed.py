"""Live activity: a row for each thread, without technical events, with what people look for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from checkpoints import store
from checkpoints.states import EventKind
from checkpoints.views import EventRow
from dashboard.board.board import BoardPage
from dashboard.board.feed import LINES, THREADS, merged, moved
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

AT = datetime(2026, 11, 26, tzinfo=UTC)


def events(thread: UUID, *kinds: str) -> list[EventRow]:
    """The newest first, as the board reads them."""
    return [
        EventRow(thread, n, kind, "user:1", {}, AT + timedelta(seconds=n), "", "")
        for n, kind in reversed(list(enumerate(kinds, 1)))
    ]


def test_each_thread_has_one_row_without_technical_events() -> None:
    one, two = uuid4(), uuid4()
    moved_rows = moved(
        events(one, "checkpoint.committed", "lease.acquired", "artifact.stored")
        + events(two, "thread.started", "thought.recorded", "checkpoint.committed")
    )
    assert [row.thread for row in moved_rows] == [one, two]
    assert [event.kind for event in moved_rows[0].lines] == ["checkpoint.committed"]
    assert (len(moved_rows[1].lines), moved_rows[1].more) == (LINES, 1)
    assert moved_rows[1].at == AT + timedelta(seconds=3)


def test_the_newest_decision_and_failure_are_always_shown() -> None:
    kinds = ("approval.requested", "approval.decided", "step.failed", "thread.retried")
    (row,) = moved(events(uuid4(), *kinds, "checkpoint.committed", "thread.succeeded"))
    shown = [event.kind for event in row.lines]
    assert shown == [
        "thread.succeeded",
        "checkpoint.committed",
        "step.failed",
        "approval.decided",
    ]
    assert (row.more, row.kinds) == (2, "decision failure")


def test_threads_of_one_family_are_one_row() -> None:
    one, two, three, root = uuid4(), uuid4(), uuid4(), uuid4()
    moved_rows = moved(
        events(one, "thread.succeeded")
        + events(two, "thread.started")
        + events(three, "step.failed")
    )
    (children, other) = merged(moved_rows, {one: root, three: root})
    assert (children.thread, children.alike, children.kinds) == (root, 1, "failure")
    assert (other.thread, other.alike) == (two, 0)


def test_threads_are_limited_and_quiet_ones_left_out() -> None:
    moved_rows = moved([event for _ in range(20) for event in events(uuid4(), "thread.started")])
    assert len(merged(moved_rows, {})) == THREADS
    assert moved(events(uuid4(), "lease.acquired")) == []


@pytest.mark.django_db
def test_a_hundred_children_displace_no_failure_of_another_thread(cast: Cast) -> None:
    agent = scene.make_agent()
    failed = scene.lease(scene.start(cast.workspace, agent))
    store.leave(failed, EventKind.THREAD_PARKED, reason="The worker was lost 3 times in a row.")
    parent = scene.start(cast.workspace, agent)
    for _ in range(105):
        child = scene.start(cast.workspace, agent)
        rows(
            "UPDATE gp_thread SET parent = %s, root = %s, status_since = clock_timestamp() "
            "WHERE id = %s",
            (parent, parent, child),
        )
    feed = BoardPage(workspace=cast.workspace).feed
    assert [row.thread for row in feed] == [parent, failed.thread]
    assert feed[0].alike >= 20
    assert feed[1].kinds == "failure"
