"""New input of threads whose worker is killed around the taking: seen by the next step, once."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from django.db import connection

from checkpoints import queries, store
from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 12


def send(case: Case, message: str) -> int:
    return store.send_input(case.id, message=message, actor="user:1")


def taken_once(case: Case, *messages: str) -> None:
    """Each message was received and taken once, in this order, and nothing waits any more."""
    received = [e for e in case.events() if e.kind == "input.received"]
    assert [e.data["message"] for e in received] == list(messages)
    settled = [n for e in case.events() if e.kind == "input.taken" for n in e.data["inputs"]]
    assert settled == [e.seq for e in received]
    assert case.state()["heard"] == list(messages)
    assert queries.waiting_inputs(case.id) == []


def test_the_node_at_work_does_not_see_it_the_next_one_does(field: Field, worker: Worker) -> None:
    case = field.play("look first, hear one", "hear two", "hear three", hold=("in-first",))
    case.wait_called("first")
    send(case, "north")
    case.go("in-first")
    case.wait_status("succeeded")

    assert [case.calls(n) for n in ("one", "two", "three")] == [[""], ["north"], ["north"]]
    assert len(case.calls("first")) == 1
    assert "lease.taken_over" not in case.kinds()
    taken_once(case, "north")


def test_killed_right_after_it_was_received(field: Field, worker: Worker) -> None:
    """The step had recorded an activity, so it is finished as it began; then it is taken."""
    case = field.play("look zero, look first, hear one", "hear two", hold=("in-first",))
    case.wait_called("first")
    send(case, "north")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-first")
    case.wait_status("succeeded", seconds=GOES_ON)

    assert (len(case.calls("zero")), len(case.calls("first"))) == (1, 2)
    assert [case.calls(n) for n in ("one", "two")] == [[""], ["north"]]
    assert case.kinds().count("lease.taken_over") == 1
    taken_once(case, "north")


def test_killed_right_after_it_was_taken(field: Field, worker: Worker) -> None:
    held = ("in-first", "in-second")
    case = field.play("look first", "look second, hear two", "hear three", hold=held)
    case.wait_called("first")
    send(case, "north")
    case.go("in-first")
    case.wait_event("input.taken")
    case.wait_called("second")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-second")
    case.wait_status("succeeded", seconds=GOES_ON)

    assert (len(case.calls("first")), len(case.calls("second"))) == (1, 2)
    assert [case.calls(n) for n in ("two", "three")] == [["north"], ["north"]]
    taken_once(case, "north")


@pytest.mark.requirement("C01")
def test_messages_from_everywhere_while_workers_are_killed(field: Field, worker: Worker) -> None:
    """Ten people send while twenty steps are worked and the worker is killed three times."""
    steps, people = 20, 10
    held = ("in-h5", "in-h10", "in-h15")
    case = field.play(*[f"hear h{n}" for n in range(steps)], "hear last", hold=held)

    def say(person: int) -> None:
        try:
            for n in range(3):
                send(case, f"{person}.{n}")
        finally:
            connection.close()

    senders = [threading.Thread(target=say, args=(p,)) for p in range(people)]
    killed = 0
    for hold in held:
        case.wait_called(hold.removeprefix("in-"), seconds=GOES_ON)
        for sender in senders[: people // len(held)] if hold != held[-1] else senders:
            sender.start()
        senders = senders[people // len(held) :] if hold != held[-1] else senders
        victim = case.holder()
        os.kill(victim, signal.SIGKILL)
        killed += 1
        case.go(hold)
    for sender in senders:
        sender.join()
    case.wait_status("succeeded", seconds=3 * GOES_ON)

    assert killed == 3
    assert case.kinds().count("lease.taken_over") == 3
    messages = [e.data["message"] for e in case.events() if e.kind == "input.received"]
    assert sorted(messages) == sorted(f"{p}.{n}" for p in range(people) for n in range(3))
    taken_once(case, *messages)
    # What a step heard is what was taken before it: always a beginning of the whole.
    whole = "+".join(messages)
    for n in range(steps):
        assert all(whole.startswith(heard) for heard in case.calls(f"h{n}"))
    assert case.calls("last")[-1] == whole
