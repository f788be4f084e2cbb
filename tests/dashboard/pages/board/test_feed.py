"""Live activity: a row for each thread, without technical events, with what people look for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from checkpoints.views import EventRow
from dashboard.pages.parts.board.feed import LINES, THREADS, merged, moved

AT = datetime(2026, 11, 26, tzinfo=UTC)


def events(thread: UUID, *kinds: str) -> list[EventRow]:
    """The newest first, as the board reads them."""
    return [
        EventRow(thread, n, kind, "user:1", {}, AT + timedelta(seconds=n), "", "")
        for n, kind in reversed(list(enumerate(kinds, 1)))
    ]


def test_each_thread_has_one_row_without_technical_events() -> None:
    one, two = uuid4(), uuid4()
    rows = moved(
        events(one, "checkpoint.committed", "lease.acquired", "artifact.stored")
        + events(two, "thread.started", "thought.recorded", "checkpoint.committed")
    )
    assert [row.thread for row in rows] == [one, two]
    assert [event.kind for event in rows[0].lines] == ["checkpoint.committed"]
    assert (len(rows[1].lines), rows[1].more) == (LINES, 1)
    assert rows[1].at == AT + timedelta(seconds=3)


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


def test_threads_of_one_title_are_one_row() -> None:
    one, two, three = uuid4(), uuid4(), uuid4()
    rows = moved(
        events(one, "thread.succeeded")
        + events(two, "thread.started")
        + events(three, "step.failed")
    )
    (children, other) = merged(rows, {one: "audit", two: "report", three: "audit"})
    assert (children.thread, children.alike, children.kinds) == (one, 1, "failure")
    assert (other.thread, other.alike) == (two, 0)


def test_threads_are_limited_and_quiet_ones_left_out() -> None:
    rows = moved([event for _ in range(20) for event in events(uuid4(), "thread.started")])
    assert len(merged(rows, {})) == THREADS
    assert moved(events(uuid4(), "lease.acquired")) == []
