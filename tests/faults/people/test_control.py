"""People act on threads that a real worker works on."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import transaction

from checkpoints import queries, store
from checkpoints.errors import StaleVersion
from checkpoints.signals import thread_queued
from tests.faults.bench import ROOT, Case, Field, Worker, ask

pytestmark = pytest.mark.hazard
ROWS = ("gp_thread", "gp_checkpoint", "gp_event", "gp_activity", "gp_keyframe")


def test_a_running_thread_pauses_before_its_next_step(field: Field, worker: Worker) -> None:
    case = field.play("look first, look second", "look last", hold=("in-first",))
    case.wait_called("first")
    assert store.pause(case.id, actor="user:1") == "requested"
    case.go("in-first")
    row = case.wait_status("paused")

    assert row.step == 1
    assert [len(case.calls(n)) for n in ("first", "second", "last")] == [1, 1, 0]
    with pytest.raises(StaleVersion):
        store.resume(case.id, actor="user:1", expected_version=row.version - 1)
    store.resume(case.id, actor="user:1", expected_version=row.version)
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("first", "second", "last")] == [1, 1, 1]


def test_a_cancelled_thread_refuses_the_record_of_its_worker(field: Field, worker: Worker) -> None:
    case = field.play("look first", "look second, deliver parcel", "look last", hold=("in-second",))
    case.wait_called("second")
    store.cancel(case.id, actor="user:1", reason="Not needed any more")
    before = case.row()
    case.go("in-second")
    case.wait_event("step.fenced")
    row = case.row()

    assert (before.status, row.status) == ("cancelled", "cancelled")
    assert row.head == before.head
    assert [len(case.calls(n)) for n in ("first", "second", "parcel", "last")] == [1, 1, 0, 0]
    after = case.kinds()[case.kinds().index("thread.cancelled") :]
    assert after == ["thread.cancelled", "step.fenced"]


def test_a_rolled_back_thread_refuses_the_commit_of_its_worker(
    field: Field, worker: Worker
) -> None:
    case = field.play("look first", "deliver parcel", "look third", "look last", hold=("in-third",))
    case.wait_called("third")
    rung: list[UUID] = []
    thread_queued.connect(listener := lambda thread_id, **_: rung.append(thread_id))
    case.roll_back(1)
    thread_queued.disconnect(listener)
    assert rung == [case.id]  # nobody has to wait for the sweep
    row = case.wait_status("paused")
    assert (row.step, row.branch, row.next_nodes) == (1, 1, ("play",))
    assert len(case.calls("undo-parcel")) == 1
    case.go("in-third")
    case.wait_event("step.fenced")
    assert case.row().head == row.head

    store.resume(case.id, actor="user:1")
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("first", "parcel", "third", "last")] == [1, 2, 2, 1]
    assert sorted(e.state for e in case.effects()) == ["compensated", "done"]


@pytest.mark.requirement("A16")
@pytest.mark.requirement("C06")
def test_each_step_is_committed_before_the_next_begins(field: Field, worker: Worker) -> None:
    case = field.play(*(f"look {n}" for n in "abcdef"), hold=("in-a",))
    for step, name in enumerate("abcdef"):
        case.wait_called(name)
        # Seen from another connection while the step after it is being worked on.
        rows = ask(
            "SELECT step, delta -> 'append' -> 'notes' ->> 0 FROM gp_checkpoint "
            "WHERE thread_id = %s AND source = 'step' ORDER BY step",
            case.id,
        )
        assert rows == [(n + 1, f"saw {'abcdef'[n]}") for n in range(step)]
        assert case.row().step == step
        if step < 5:
            case.hold(f"in-{'abcdef'[step + 1]}")
        case.go(f"in-{name}")
    case.wait_status("succeeded")


def rows() -> dict[str, int]:
    return {table: ask(f"SELECT count(*) FROM {table}")[0][0] for table in ROWS}


def test_a_fork_at_step_900_of_1000_repeats_nothing(field: Field, worker: Worker) -> None:
    case = field.start("thousand", upto=1000)
    case.wait_status("succeeded", seconds=60)
    assert case.calls("count") == [str(n) for n in range(1, 1001)]
    past = case.row()
    (target,) = ask("SELECT id FROM gp_checkpoint WHERE thread_id = %s AND step = 900", case.id)[0]
    base = queries.state_at(case.id, target)
    assert base["at"] == 900

    with transaction.atomic():  # no worker sees it before it is counted
        before = rows()
        fork = store.fork(case.id, checkpoint=target, changes={"text": "other"}, actor="user:1")
        added = {table: n - before[table] for table, n in rows().items() if n > before[table]}
    assert added == {"gp_thread": 1, "gp_checkpoint": 1, "gp_event": 1}
    twin = field.adopt(fork, case.folder)
    twin.wait_status("succeeded")

    # Nor does it call again what its base has recorded after that with the same arguments.
    assert case.calls("count")[1000:] == []
    reused = "SELECT count(*) FROM gp_activity WHERE thread_id = %s AND usage ? 'reused_from'"
    assert ask(reused, fork) == [(100,)]
    assert twin.state()["at"] == 1000
    assert twin.state()["text"].endswith(" 1000")
    assert queries.state_at(fork, queries.checkpoint_by_number(fork, 0).id) == {
        **base,
        "text": "other",
    }
    row = case.row()
    assert (row.version, row.last_seq, row.head) == (past.version, past.last_seq, past.head)


def test_an_agent_of_the_users_own_with_gate_fork_and_rollback(
    field: Field, worker: Worker
) -> None:
    """Its module lies outside of the repository, on a queue that only its graph names."""
    case = field.start("parcels", to="Grace")
    source = case.folder.parent.parent / "hazards0" / "own_agents.py"
    assert not source.is_relative_to(ROOT)
    case.wait_status("waiting")
    assert case.open().title == "Send the parcel?"
    assert case.open().reasons == ["105 grams are cheap to send"]
    assert case.calls("Grace") == []

    case.decide("approve", "good weight")
    case.wait_status("succeeded")
    assert case.state()["outcome"] == "delivered Grace, good weight"
    assert (case.folder / "Grace.parcel").exists()

    other = forked(field, case, number=0, to="Linus")
    other.wait_status("waiting")
    other.decide("reject", "no address")
    other.wait_status("succeeded")
    assert other.state()["outcome"] == "kept: no address"
    assert not (case.folder / "Linus.parcel").exists()
    assert (case.folder / "Grace.parcel").exists()

    case.roll_back(1)
    row = case.wait_status("paused")
    assert row.next_nodes == ("send",)
    assert not (case.folder / "Grace.parcel").exists()
    store.edit(case.id, changes={"to": "Barbara"}, reason="Other person", actor="user:1")
    store.resume(case.id, actor="user:1")
    case.wait_status("waiting")
    case.decide("approve", "now right")
    case.wait_status("succeeded")
    assert case.state()["outcome"] == "delivered Barbara, now right"
    assert (case.folder / "Barbara.parcel").exists()
    assert [len(case.calls(n)) for n in ("Grace", "undo-Grace", "Barbara")] == [1, 1, 1]


def forked(field: Field, case: Case, *, number: int, **changes: object) -> Case:
    target: UUID = queries.checkpoint_by_number(case.id, number).id
    fork = store.fork(case.id, checkpoint=target, changes=changes, actor="user:1")
    return field.adopt(fork, case.folder)
