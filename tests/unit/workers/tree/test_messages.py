"""Several agents write into one conversation: nothing is overwritten, one order for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from checkpoints import leases, queries, store
from workers.testing.harness import Harness

from .agents import conversation, speaker
from .conftest import Fleet

SPEAKERS = [f"speaker-{n}" for n in range(5)]
ALL = sorted((name, number) for name in SPEAKERS for number in range(4))


def lines(messages: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(message["by"], message["number"]) for message in messages]


def in_log(thread: UUID) -> list[tuple[object, object]]:
    events = queries.events_after(thread, 0)
    return lines([e.data["message"] for e in events if e.kind == "input.received"])


@pytest.mark.requirement("C27")
@pytest.mark.requirement("E06")
def test_nothing_is_overwritten_and_the_order_is_one(fleet: Fleet) -> None:
    thread = fleet.start("conversation", speakers=SPEAKERS, lines=4)
    fleet.work_on(thread)

    def work(child: UUID) -> None:
        try:
            assert fleet.work_on(child)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(SPEAKERS)) as pool:
        list(pool.map(work, fleet.children(thread)))
    fleet.work()
    state = fleet.state(thread)
    assert sorted(lines(state["messages"])) == ALL
    assert lines(state["messages"]) == in_log(thread)
    assert state["number"] == len(ALL)
    # Of each speaker in the order in which it spoke.
    for name in SPEAKERS:
        assert [number for by, number in lines(state["messages"]) if by == name] == [0, 1, 2, 3]
    events = queries.events_after(thread, 0)
    senders = {e.data["sent_by"]["thread"] for e in events if e.kind == "input.received"}
    assert senders == {str(child) for child in fleet.children(thread)}
    fleet.verify()


@pytest.mark.requirement("C27")
def test_a_message_is_received_once_whoever_delivers_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender is lost between its record and the delivery; several deliver at once."""
    thread = fleet.start("conversation", speakers=["one"], lines=3)
    fleet.work_on(thread)
    monkeypatch.setattr("checkpoints.store.tree.messages.deliver_messages", lambda thread: 0)
    fleet.work_on(fleet.children(thread)[0])
    monkeypatch.undo()
    assert in_log(thread) == []

    def deliver(_: int) -> int:
        try:
            return store.deliver_messages(thread)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(deliver, range(4))) == 3
    assert sorted(in_log(thread)) == [("one", 0), ("one", 1), ("one", 2)]


@pytest.mark.requirement("C27")
def test_no_message_overtakes_one_that_is_being_delivered(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = fleet.start("conversation", speakers=["one"], lines=3)
    fleet.work_on(thread)
    monkeypatch.setattr("checkpoints.store.tree.messages.deliver_messages", lambda thread: 0)
    fleet.work_on(fleet.children(thread)[0])
    monkeypatch.undo()

    def deliver() -> int:
        try:
            return store.deliver_messages(thread)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            # Somebody is at the first of them, and does not come to the end.
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s FOR NO KEY UPDATE", (thread,))
            cursor.execute(
                "DELETE FROM gp_wake WHERE id = (SELECT min(id) FROM gp_wake "
                "WHERE thread_id = %s AND kind = 'message')",
                (thread,),
            )
            other = pool.submit(deliver)
            with pytest.raises(TimeoutError):
                other.result(timeout=0.5)
            transaction.set_rollback(True)
        assert other.result(timeout=20) == 3
    assert in_log(thread) == [("one", 0), ("one", 1), ("one", 2)]


def test_the_sweep_delivers_what_was_left(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = fleet.start("conversation", speakers=["one"], lines=2)
    fleet.work_on(thread)
    monkeypatch.setattr("checkpoints.store.tree.messages.deliver_messages", lambda thread: 0)
    fleet.work_on(fleet.children(thread)[0])
    monkeypatch.undo()
    store.deliver_due(actor="worker:sweep", older_than_seconds=0)
    assert in_log(thread) == [("one", 0), ("one", 1)]


def test_a_message_to_an_agent_without_inbox_fails_the_step(fleet: Fleet) -> None:
    other = fleet.start("reader")
    thread = fleet.start("speaker", name="one", lines=1)
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    context = fleet.open_step(work)
    with pytest.raises(Exception, match="takes no messages"):
        context.send(str(other), "hello")
    with pytest.raises(Exception, match="no such thread"):
        context.send("0192f0c4-0000-7000-8000-000000000001", "hello")


def test_a_message_that_comes_too_late_is_refused_in_the_log(fleet: Fleet) -> None:
    thread = fleet.start("conversation", speakers=[])
    fleet.work()
    sender = fleet.start("speaker")
    work = leases.acquire(sender, owner="worker:test")
    assert work is not None
    fleet.open_step(work).send(str(thread), {"by": "late"})
    kinds = fleet.kinds(thread)
    assert kinds[-1] == "update.rejected"
    assert fleet.row(thread).status == "succeeded"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_wake")
        assert cursor.fetchone()[0] == 0


def test_a_harness_plays_a_conversation() -> None:
    thread = Harness(conversation, agents=[speaker]).play({"speakers": SPEAKERS, "lines": 4})
    assert sorted(lines(thread.state["messages"])) == ALL
