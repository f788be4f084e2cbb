"""A thread that waits for a person costs nothing; one that works costs one connection."""

from __future__ import annotations

import pytest

from tests.faults.bench import LEASE, SWEEP, Field, Worker, ask, wait_until
from workers.celery import app

pytestmark = pytest.mark.hazard

BACKENDS = (
    "SELECT pid, state, query FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = 'gatepost-worker'"
)


@pytest.mark.requirement("B07")
@pytest.mark.requirement("B08")
@pytest.mark.requirement("C33")
@pytest.mark.requirement("D05")
def test_twenty_threads_at_gates_hold_nothing(field: Field, worker: Worker) -> None:
    # A pool replaces what earlier tests have killed within five seconds.
    wait_until(lambda: len(worker.slots()) == 2, what="a whole pool")
    processes = set(worker.slots())
    backends = {pid for pid, _, _ in ask(BACKENDS)}
    cases = [field.play("look first", "ask parcel") for _ in range(20)]
    waiting = [case.wait_status("waiting") for case in cases]
    assert len(waiting) == 20

    # Both slots are free for others while they wait.
    busy = [field.play("look long", hold=("in-long",)) for _ in range(2)]
    for case in busy:
        case.wait_called("long")
    assert {case.holder() for case in busy} <= set(worker.slots())

    active = app.control.inspect([worker.name], timeout=5).active()
    named = str(active) + str(ask(BACKENDS))
    assert len(active[worker.name]) == 2
    assert not [case.id for case in cases if str(case.id) in named]
    commands = "".join(worker.command(pid) for pid in [worker.pid, *worker.slots()])
    assert not [case.id for case in cases if str(case.id) in commands]
    assert len(worker.slots()) == len(processes) == 2
    # One connection per process, of the sweep too, and one for each heartbeat that beats.
    assert len({pid for pid, _, _ in ask(BACKENDS)} | backends) <= 3 + len(busy)
    ((leases, held),) = ask(
        "SELECT count(*) FILTER (WHERE lease_token IS NOT NULL), "
        "count(*) FILTER (WHERE status = 'running') FROM gp_thread WHERE id = ANY(%s)",
        [case.id for case in cases],
    )
    assert (leases, held) == (0, 0)
    assert [case.calls("parcel") for case in cases] == [[]] * 20

    for case in busy:
        case.go("in-long")
    assert len([case.wait_status("succeeded") for case in busy]) == 2

    # Each wakes by its decision alone, does what was approved, and looks nothing up again.
    for case in cases:
        assert case.row().status == "waiting"
        case.decide("approve")
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == 20
    assert [len(case.calls("parcel")) for case in cases] == [1] * 20
    assert [len(case.calls("first")) for case in cases] == [1] * 20


@pytest.mark.requirement("C32")
def test_a_node_beside_a_gate_goes_on_and_the_effect_waits(field: Field, worker: Worker) -> None:
    cases = [field.start("fan") for _ in range(5)]
    for case in cases:
        case.wait_status("waiting")
        # The other node of the step is done and kept; nothing after the gate has begun.
        assert [len(case.calls(name)) for name in ("beside", "parcel", "end")] == [1, 0, 0]
        assert case.row().step == 1
        assert case.effects() == []
        kinds = case.kinds()
        assert kinds.index("approval.requested") > kinds.index("activity.finished")
        assert "effect.started" not in kinds
        case.decide("approve")
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == 5
    for case in cases:
        assert [len(case.calls(name)) for name in ("beside", "parcel", "end")] == [1, 1, 1]
        kinds = case.kinds()
        assert kinds.index("effect.started") > kinds.index("approval.decided")
        # Merged in the order of the graph, whatever was done first.
        assert case.state()["notes"] == ["delivered parcel", "saw beside", "saw end"]


def test_twenty_threads_use_one_backend_per_process(field: Field, worker: Worker) -> None:
    def answers() -> set[tuple[int, str]]:
        cases = [field.play("backend mine") for _ in range(20)]
        for case in cases:
            case.wait_status("succeeded")
        pairs = [(case.callers("mine"), case.calls("mine")) for case in cases]
        assert sum(len(calls) for _, calls in pairs) == 20
        return {(callers[0], calls[0]) for callers, calls in pairs}

    before = answers()
    processes = {process for process, _ in before}
    assert len(before) == len(processes) <= 2

    for _, backend in before:
        assert ask("SELECT pg_terminate_backend(%s, 2000)", int(backend)) == [(True,)]
    after = answers()
    assert len(after) == len({process for process, _ in after}) <= 2
    assert not {backend for _, backend in before} & {backend for _, backend in after}
    wait_until(lambda: set(worker.slots()) >= processes, what="the same processes to live on")


def test_a_connection_lost_in_the_middle_of_a_step_doubles_nothing(
    field: Field, worker: Worker
) -> None:
    case = field.play(
        "look first", "backend mine, look second, look third", "look last", hold=("in-second",)
    )
    case.wait_called("second")
    ((dropped,),) = ask("SELECT pg_terminate_backend(%s, 2000)", int(case.calls("mine")[0]))
    assert dropped
    case.go("in-second")
    case.wait_status("succeeded", seconds=LEASE + SWEEP + 12)

    # The result that could not be recorded counts for nothing; what was recorded is not repeated.
    names = ("first", "mine", "second", "third", "last")
    assert [len(case.calls(name)) for name in names] == [1, 1, 2, 1, 1]
    assert case.kinds().count("activity.finished") == 5
    assert "thread.failed" not in case.kinds()
