"""A worker is lost, frozen or asked to stop while another one is alive."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints import queries, store
from tests.faults import invariants
from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker, ask, wait_until, workers

pytestmark = pytest.mark.hazard
PAIR = {"HAZARD_QUEUE": "pair"}
GOES_ON = LEASE + SWEEP + 12


@pytest.fixture
def pair(ground: Path) -> Iterator[tuple[Worker, Worker]]:
    """Two workers with a queue of their own."""
    made = [Worker(ground, f"pair-{n}", slots=2, queues="pair", environment=PAIR) for n in (1, 2)]
    with workers(*made) as (one, two):
        yield one, two


def parted(case: Case, pair: tuple[Worker, Worker]) -> tuple[Worker, Worker]:
    """(the worker that holds the thread, the other one)."""
    one, two = pair
    return (one, two) if case.holder() in one.working() else (two, one)


@pytest.mark.requirement("C06")
def test_a_killed_group_loses_nothing_and_disturbs_nobody(
    field: Field, pair: tuple[Worker, Worker]
) -> None:
    cases = [
        field.play("look first, look second", "look last", agent="script-pair", hold=("in-second",))
        for _ in range(4)
    ]
    for case in cases:
        case.wait_called("second")
    lost, other = parted(cases[0], pair)
    stricken = [case for case in cases if case.holder() in lost.working()]
    spared = [case for case in cases if case not in stricken]
    assert len(stricken) == len(spared) == 2
    lost.kill()
    for case in spared:
        case.go("in-second")
    for case in stricken:
        case.wait_event("lease.taken_over", seconds=GOES_ON)
        assert case.row().crash_count == 1
        case.go("in-second")
    for case in cases:
        case.wait_status("succeeded", seconds=GOES_ON)

    for case in stricken:
        assert case.row().crash_count == 0
        assert case.kinds().count("lease.taken_over") == 1
        assert (len(case.calls("first")), len(case.calls("second"))) == (1, 2)
        assert set(case.callers("last")) <= set(other.working())
    for case in spared:
        assert "lease.taken_over" not in case.kinds()
        assert (len(case.calls("first")), len(case.calls("second"))) == (1, 1)


@pytest.mark.requirement("C30")
def test_a_frozen_worker_cannot_commit_after_its_lease(
    field: Field, pair: tuple[Worker, Worker]
) -> None:
    case = field.play(
        "look first", "look second", "look last", agent="script-pair", hold=("in-second",)
    )
    case.wait_called("second")
    frozen, other = parted(case, pair)
    stale = case.holder()
    frozen.signal(signal.SIGSTOP)
    case.wait_event("lease.taken_over", seconds=GOES_ON)
    case.wait_called("second", 2)
    assert case.holder() in other.working()
    frozen.signal(signal.SIGCONT)
    case.go("in-second")
    case.wait_status("succeeded")
    case.wait_event("step.fenced")

    assert case.callers("second")[0] == stale
    assert case.callers("second")[1] != stale
    assert set(case.callers("last")) == {case.callers("second")[1]}
    (fenced,) = [e for e in case.events() if e.kind == "step.fenced"]
    assert str(stale) in fenced.data["owner"]
    assert fenced.data["step"] == 2
    committed = [e for e in case.events() if e.kind == "checkpoint.committed"]
    assert [(e.data["step"], e.actor.split(":")[2] == str(stale)) for e in committed] == [
        (1, True),
        (2, False),
        (3, False),
    ]


@pytest.mark.parametrize("pair", ["prefork", "threads"], indirect=True)
def test_sigterm_hands_the_thread_back_at_the_next_boundary(
    field: Field, pair: tuple[Worker, Worker]
) -> None:
    case = field.play(
        "look first, look second, deliver third",
        "look last",
        agent="script-pair",
        hold=("in-second",),
    )
    case.wait_called("second")
    stopping, other = parted(case, pair)
    stopping.stop()
    wait_until(lambda: "shutdown" in stopping.log.read_text(), what=stopping.log.read_text)
    case.go("in-second")
    case.wait_status("succeeded", seconds=10)
    assert stopping.process.wait(10) == 0

    # What was begun was finished and recorded; the next thing was done elsewhere, at once.
    names = ("first", "second", "third", "last")
    assert [len(case.calls(name)) for name in names] == [1, 1, 1, 1]
    assert set(case.callers("third")) <= set(other.working())
    kinds = case.kinds()
    assert kinds.count("thread.handed_back") == 1
    assert "lease.taken_over" not in kinds
    assert case.row().crash_count == 0
    ((stopped,),) = ask("SELECT stopped_at IS NOT NULL FROM gp_worker WHERE pid = %s", stopping.pid)
    assert stopped


def test_with_default_settings_a_killed_worker_costs_twenty_seconds_at_most(
    ground: Path, real_db: str, tmp_path: Path
) -> None:
    made = [
        Worker(
            ground,
            f"plain-{n}",
            queues="plain",
            environment={"HAZARD_QUEUE": "plain"},
            settings={},
        )
        for n in (1, 2)
    ]
    with workers(*made) as (one, two):
        field = Field(tmp_path, store.create_workspace("plain", actor="user:0"))
        case = field.play(
            "look first, look second", "look last", agent="script-plain", hold=("in-second",)
        )
        case.wait_called("second")
        lost, _ = parted(case, (one, two))
        ((left,),) = ask(
            "SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 "
            "FROM gp_thread WHERE id = %s",
            case.id,
        )
        assert 9 < left <= 15
        lost.kill()
        killed = time.monotonic()
        case.go("in-second")
        case.wait_status("succeeded", seconds=20)
        assert time.monotonic() - killed <= 20
        assert (len(case.calls("first")), len(case.calls("second"))) == (1, 2)
        alive = [w for w in queries.workers() if w.alive]
        assert len(alive) == 1
        invariants.check(case)
