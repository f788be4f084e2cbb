"""What becomes of a thread reaches anyone who wants to hear of it: each end and each stop, once."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from approvals.notify.channels.kinds import usual_news
from approvals.notify.sender import Sender
from approvals.notify.stuck_threads import announce_stuck_threads
from approvals.notify.texts.kinds import NEWS, THREADS
from checkpoints import leases, store
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint
from tests.unit.approvals.post import Hook, Mailbox
from tests.unit.dashboard import scene

pytestmark = pytest.mark.usefixtures("loopback")


def outbox() -> list[tuple[str, UUID, dict[str, Any]]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, thread_id, data::text FROM gp_outbox ORDER BY at, kind")
        return [(kind, thread, json.loads(data)) for kind, thread, data in cursor.fetchall()]


def worked(people: Cast, by: EventKind, reason: str = "") -> UUID:
    """A thread that a worker has left so."""
    thread = scene.start(people.workspace, scene.make_agent())
    work = leases.acquire(thread, owner="worker:here")
    assert work is not None
    store.leave(work, by, reason=reason)
    return thread


ENDS = {
    "thread.failed": EventKind.THREAD_FAILED,
    "thread.attention": EventKind.THREAD_PARKED,
    "thread.paused": EventKind.THREAD_PAUSED,
    "thread.succeeded": EventKind.THREAD_SUCCEEDED,
}


@pytest.mark.parametrize("kind", ENDS)
def test_each_end_and_stop_is_news_for_who_wants_it(people: Cast, hook: Hook, kind: str) -> None:
    endpoint(people, "webhook", target=hook.url, events=[kind])
    thread = worked(people, ENDS[kind], "a line of the agent")
    for other in ENDS.values():
        if other is not ENDS[kind]:
            worked(people, other)
    assert Sender().drain() == 1
    [got] = hook.got
    assert got.json["type"] == kind
    data = got.json["data"]
    assert (data["thread"], data["status"]) == (str(thread), kind.partition(".")[2])
    assert data["reason"] == "a line of the agent"
    assert data["url"].endswith(f"/threads/{thread}/")
    assert data["agent"] == "research"
    assert data["approval"] is None


def test_what_people_do_is_news_as_well_and_steps_are_not(people: Cast) -> None:
    endpoint(people, "webhook", target="https://agent.example/in", events=sorted(THREADS))
    thread = scene.start(people.workspace, scene.make_agent())
    store.pause(thread, actor="user:1")
    store.resume(thread, actor="user:1")
    store.cancel(thread, actor="user:1")
    assert [kind for kind, *_ in outbox()] == ["thread.paused", "thread.cancelled"]


def test_nothing_is_written_where_nobody_wants_it(people: Cast) -> None:
    endpoint(people, "webhook", target="https://agent.example/in", events=["approval.requested"])
    off = endpoint(
        people, "webhook", name="off", target="https://b.example/", events=["thread.failed"]
    )
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_endpoint SET active = false WHERE id = %s", (off,))
    worked(people, EventKind.THREAD_FAILED)
    assert outbox() == []


def test_news_are_undone_with_the_change_that_they_tell_of(people: Cast) -> None:
    endpoint(people, "webhook", target="https://agent.example/in", events=["thread.paused"])
    thread = scene.start(people.workspace, scene.make_agent())
    with transaction.atomic():
        store.pause(thread, actor="user:1")
        assert [kind for kind, *_ in outbox()] == ["thread.paused"]
        transaction.set_rollback(True)
    assert outbox() == []


def test_a_standstill_is_news_once_and_again_after_it_moved(people: Cast) -> None:
    endpoint(people, "webhook", target="https://agent.example/in", events=["thread.stuck"])
    queued = scene.start(people.workspace, scene.make_agent())
    running = scene.start(people.workspace, scene.make_agent())
    work = leases.acquire(running, owner="worker:here")
    assert work is not None
    paused = scene.start(people.workspace, scene.make_agent())
    store.pause(paused, actor="user:1")
    assert announce_stuck_threads() == 0
    let_time_pass(2_000)
    assert announce_stuck_threads() == 2
    assert announce_stuck_threads() == 0
    payload = {thread: data for _, thread, data in outbox()}
    assert payload.keys() == {queued, running}
    assert payload[queued]["reason"] == "No worker has taken it."
    assert payload[running]["reason"] == "Its worker has recorded nothing."
    assert payload[running]["seconds"] >= 2_000
    store.record(work, [NewEvent(EventKind.THOUGHT_RECORDED, {"text": "on"}, work.owner)])
    let_time_pass(500)
    assert announce_stuck_threads() == 0


def let_time_pass(seconds: int) -> None:
    """Move everything so far into the past."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET status_since = status_since - make_interval(secs => %s), "
            "last_at = last_at - make_interval(secs => %s)",
            (seconds, seconds),
        )


@pytest.mark.requirement("B39")
@pytest.mark.parametrize(
    ("kind", "title", "reason"),
    [
        ("thread.failed", "Failed", "price: raised KeyError: 'tea'"),
        ("thread.attention", "Needs attention", "No upgrade from schema 1 to 2 is registered"),
    ],
)
def test_operators_get_a_mail_that_says_why_and_leads_there(
    people: Cast, box: Mailbox, kind: str, title: str, reason: str
) -> None:
    endpoint(people, "email", events=[kind])
    thread = worked(people, ENDS[kind], reason)
    Sender().drain()
    assert {to.partition("@")[0] for to, _ in box.mails} == {"operator"}
    assert box.mails[0][1]["Subject"] == f"{title}: Delays"
    assert reason in box.text()
    assert f"/threads/{thread}/?src=mail" in box.text()


def test_each_kind_is_a_status_that_threads_stop_in() -> None:
    others = {"thread.stuck", "thread.work_waiting"}
    known = {f"thread.{status}" for status in Status} | others
    assert known >= THREADS
    assert set(NEWS) >= THREADS
    assert "thread.failed" in usual_news("webhook")
    assert "thread.succeeded" not in usual_news("webhook")
