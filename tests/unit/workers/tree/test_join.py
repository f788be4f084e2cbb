"""A thread starts others, waits for them without a worker, and combines what they did."""

from __future__ import annotations

import pytest
from django.db import connection

from checkpoints import leases, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost
from workers.slot import sweep

from .conftest import Fleet, wait_until

FILES = [f"file-{n}" for n in range(10)]
BAD = ["file-2", "file-5", "file-9"]


@pytest.mark.requirement("B31")
def test_children_work_and_are_joined(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b", "c"])
    assert fleet.work_on(lead)
    row = fleet.row(lead)
    assert row.status == "waiting"
    assert row.waiting_on["kind"] == "children"
    assert (row.waiting_on["need"], row.waiting_on["of"]) == (3, 3)
    assert (row.lease_owner, row.lease_until) == ("", None)  # it holds nothing meanwhile
    fleet.work()
    assert fleet.row(lead).status == "succeeded"
    assert fleet.state(lead)["texts"] == ["A", "B", "C"]
    fleet.verify()


@pytest.mark.requirement("B35")
@pytest.mark.requirement("B36")
def test_seven_of_ten_are_combined_and_three_are_listed(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=FILES, bad=BAD, failures="list")
    fleet.work()
    state = fleet.state(lead)
    assert state["texts"] == [file.upper() for file in FILES if file not in BAD]
    assert [line.partition(":")[0] for line in state["listed"]] == BAD
    assert all("cannot be read" in line for line in state["listed"])
    # Each has a past of its own.
    for child in fleet.children(lead):
        assert fleet.kinds(child)[0] == "thread.started"
        assert fleet.kinds(child).count("checkpoint.committed") == (fleet.row(child).number)
    fleet.verify()


def test_a_child_belongs_to_its_parent(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a"])
    fleet.work()
    (child,) = fleet.children(lead)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.parent, c.root, c.depth, c.workspace_id = p.workspace_id, c.effects, "
            "c.started_by, c.title, p.root, p.depth FROM gp_thread c JOIN gp_thread p "
            "ON p.id = c.parent WHERE c.id = %s",
            (child,),
        )
        (row,) = cursor.fetchall()
    assert row == (lead, lead, 1, True, "run", "user:1", "a", None, 0)
    assert fleet.kinds(lead).count("child.started") == 1
    assert fleet.kinds(lead).count("child.joined") == 1


def test_the_first_of_several_is_enough(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b", "c"], need="any")
    fleet.work_on(lead)
    fleet.work_on(fleet.children(lead)[1])
    assert fleet.row(lead).status == "queued"
    fleet.work_on(lead)
    assert fleet.row(lead).status == "succeeded"
    assert len(fleet.state(lead)["texts"]) == 1
    fleet.work()
    fleet.verify()


def test_so_many_are_enough(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=FILES, bad=BAD[:1], need=3, failures="list")
    fleet.work_on(lead)
    for n, child in enumerate(fleet.children(lead)[:4], 1):
        fleet.work_on(child)
        done = sum(fleet.row(c).status == "succeeded" for c in fleet.children(lead)[:n])
        assert (fleet.row(lead).status == "queued") == (done >= 3)
        if done >= 3:
            break
    fleet.work_on(lead)
    assert fleet.row(lead).status == "succeeded"
    assert len(fleet.state(lead)["texts"]) == 3
    assert len(fleet.state(lead)["listed"]) == 7


def test_a_failure_that_is_one_too_many_is_raised_at_once(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b", "c"], bad=["b"])
    fleet.work_on(lead)
    bad = next(c for c in fleet.children(lead) if fleet.row(c).title == "b")
    fleet.work_on(bad)
    assert fleet.row(lead).status == "queued"  # the others need not end first
    fleet.work_on(lead)
    assert fleet.row(lead).status == "failed"
    assert "0 of 3 children succeeded, 3 are needed: " in fleet.row(lead).status_reason
    assert "cannot be read" in fleet.row(lead).status_reason


def test_what_failed_is_mended_and_then_joined(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b"], bad=["b"])
    fleet.work()
    assert fleet.row(lead).status == "failed"
    bad = next(c for c in fleet.children(lead) if fleet.row(c).status == "failed")
    store.edit(bad, changes={"fails": False}, reason="it can be read now", actor="user:1")
    store.retry(bad, actor="user:1")
    fleet.work()
    store.retry(lead, actor="user:1")
    fleet.work()
    assert fleet.state(lead)["texts"] == ["A", "B"]
    assert len(fleet.children(lead)) == 2
    fleet.verify()


def test_a_retried_child_is_waited_for_again(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b"], bad=["b"], failures="list")
    fleet.work_on(lead)
    bad = next(c for c in fleet.children(lead) if fleet.row(c).title == "b")
    good = next(c for c in fleet.children(lead) if c != bad)
    fleet.work_on(bad)
    store.edit(bad, changes={"fails": False}, reason="it can be read now", actor="user:1")
    store.retry(bad, actor="user:1")
    fleet.work_on(good)
    assert fleet.row(lead).status == "waiting"
    fleet.work()
    assert fleet.state(lead)["texts"] == ["A", "B"]


def test_time_is_over_with_what_is_there(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b"], within=0.4, failures="list")
    fleet.work_on(lead)
    fleet.work_on(fleet.children(lead)[0])
    wait_until(lambda: store.deliver_due(actor="worker:sweep", older_than_seconds=0))
    assert fleet.row(lead).status == "queued"
    fleet.work_on(lead)
    state = fleet.state(lead)
    assert len(state["texts"]) == 1
    assert "open (It had not ended in time.)" in state["listed"][0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_wake")
        assert cursor.fetchone()[0] == 0


@pytest.mark.slow
def test_the_sweep_delivers_what_nobody_else_does(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a", "b"], within=0.4, failures="list")
    fleet.work_on(lead)
    wait_until(lambda: sweep.sweep_once(owner="worker:sweep")["children"])
    assert fleet.row(lead).status == "queued"


def test_a_cancelled_child_is_a_failure(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a"], failures="list")
    fleet.work_on(lead)
    store.cancel(fleet.children(lead)[0], actor="user:1", reason="not needed")
    fleet.work()
    assert fleet.state(lead)["listed"] == ["a: cancelled"]
    fleet.verify()


def test_an_agent_that_nobody_has_fails_the_step(fleet: Fleet) -> None:
    thread = fleet.start("mapping", files=["a"])
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE gp_agent_version SET agent = 'other' WHERE agent = 'reader'")
        cursor.execute("SET session_replication_role = DEFAULT")
    fleet.work()
    assert fleet.row(thread).status == "failed"
    assert "No worker has announced an agent named 'reader'" in fleet.row(thread).status_reason


def test_a_worker_without_its_lease_starts_nobody(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=["a"])
    work = leases.acquire(lead, owner="worker:slow")
    assert work is not None
    store.cancel(lead, actor="user:1")
    context = fleet.open_step(work)
    with pytest.raises(LeaseLost):
        context.spawn("reader", {"file": "a"})
    assert fleet.children(lead) == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_thread")
        assert cursor.fetchone()[0] == 1


# ---- a limit -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("at_most", [1, 3, 8, 20, None])
def test_no_more_than_the_limit_work_at_a_time(fleet: Fleet, at_most: int | None) -> None:
    thread = fleet.start("mapping", files=FILES, at_most=at_most)
    fleet.work_on(thread)
    order = []
    while queued := [c for c in fleet.queued() if c != thread]:
        assert len(queued) == min(at_most or 10, 10 - len(order))
        assert fleet.row(thread).status == "waiting"
        order.append(fleet.row(queued[0]).id)
        fleet.work_on(queued[0])
    assert len(order) == 10
    fleet.work()
    assert fleet.state(thread)["texts"] == [file.upper() for file in FILES]
    # One call of the node to start them, one to join them: the parent slept in between.
    assert fleet.worked.count(thread) == 2
    fleet.verify()


def test_a_held_child_that_is_cancelled_releases_nobody(fleet: Fleet) -> None:
    thread = fleet.start("mapping", files=FILES, at_most=2, failures="list")
    fleet.work_on(thread)
    held = fleet.children(thread)[5]
    assert fleet.row(held).status == "waiting"
    store.cancel(held, actor="user:1")
    assert len(fleet.queued()) == 2
    fleet.work()
    assert fleet.state(thread)["listed"] == ["reader: cancelled"]
    assert len(fleet.state(thread)["texts"]) == 9
    fleet.verify()


def test_a_held_child_that_people_take_out_begins_once(fleet: Fleet) -> None:
    thread = fleet.start("mapping", files=FILES[:3], at_most=1)
    fleet.work_on(thread)
    second = fleet.children(thread)[1]
    store.pause(second, actor="user:1")
    fleet.work_on(fleet.queued()[0])
    assert fleet.queued() == [fleet.children(thread)[2]]  # it is passed over
    store.resume(second, actor="user:1")
    fleet.work()
    assert fleet.state(thread)["texts"] == [file.upper() for file in FILES[:3]]
    assert len(fleet.worked) == 2 + 3
    fleet.verify()


def test_failures_of_a_map_are_raised_with_what_came(fleet: Fleet) -> None:
    thread = fleet.start("mapping", files=FILES[:3], bad=["file-2"])
    fleet.work()
    message, *failures = fleet.state(thread)["listed"]
    assert message.startswith("2 of 3 children succeeded, 3 are needed: reader: failed")
    assert len(failures) == 1


# ---- what verification sees --------------------------------------------------------------------


@pytest.mark.altered
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE gp_checkpoint SET state_hash = sha256('x') WHERE thread_id = %s AND number = 1",
        "UPDATE gp_event SET hash = sha256('x') WHERE thread_id = %s AND seq > 3",
        "UPDATE gp_thread SET chain_id = gen_random_uuid() WHERE id = %s",
        "DELETE FROM gp_thread WHERE id = %s",
    ],
    ids=["state", "events", "chain", "gone"],
)
def test_a_child_that_was_altered_is_found_by_its_parent(fleet: Fleet, change: str) -> None:
    lead = fleet.start("lead", files=["a", "b"])
    fleet.work()
    assert verify_thread(lead).intact
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(change, (fleet.children(lead)[1],))
        cursor.execute("SET session_replication_role = DEFAULT")
    report = verify_thread(lead)
    assert not report.intact
    assert "child it names is" in report.what


def test_a_join_without_children_is_answered(fleet: Fleet) -> None:
    lead = fleet.start("lead", files=[])
    fleet.work()
    assert fleet.row(lead).status == "succeeded"
    assert verify_thread(lead).intact
