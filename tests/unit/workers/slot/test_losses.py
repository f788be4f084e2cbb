"""How a lost process is told, and when a slot counts as stuck."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from uuid import uuid4

import pytest

from checkpoints import leases, store
from checkpoints.states import Status
from checkpoints.store.installation.sweep import lost_reason
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import samples
from workers import shared_page
from workers.authoring import time_limits
from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Graph, State
from workers.slot import losses
from workers.slot.losses import EXIT_MEMORY, EXIT_PAST_LIMIT, ending

from .test_clock import HOUR, server_started


@pytest.fixture(autouse=True)
def own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that no slot of this process shares."""
    monkeypatch.setattr(shared_page, "_page", bytearray(8192))
    monkeypatch.setattr(shared_page, "_index", -1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Worker exited prematurely: exitcode 7 Job: 3.", "ended its process with exit code 7"),
        (f"exitcode {EXIT_PAST_LIMIT} Job: 3.", ""),
        (f"exitcode {EXIT_MEMORY} Job: 3.", ""),
        ("signal 11 (SIGSEGV) Job: 3.", "lost its process to SIGSEGV"),
        (
            "signal 9 (SIGKILL) Job: 3.",
            "lost its process to SIGKILL, as when the machine is out of memory",
        ),
        ("signal 34 Job: 3.", "lost its process to signal 34"),
        ("nobody knows", "lost its process"),
    ],
)
def test_an_ending_is_told(text: str, sentence: str) -> None:
    assert ending(text) == sentence


@pytest.mark.parametrize(
    ("causes", "sentence"),
    [
        ([], "at this step. Look"),
        ([("do", "hung")] * 3, "at this step: at 'do' it hung each time. Look"),
        ([("do", "hung")], "at this step: at 'do' it hung the last time it was known. Look"),
        ([("do", "hung"), ("do", "fell"), ("do", "fell")], "'do' it hung the last time"),
        ([("", "hung")] * 3, "at this step: it hung each time. Look"),
    ],
)
def test_a_crash_loop_says_its_cause(causes: list[tuple[str, str]], sentence: str) -> None:
    message = lost_reason(causes)
    assert message.startswith("The worker was lost 3 times in a row at this step")
    assert sentence in message
    assert message.endswith("then retry, edit or roll back.")


def test_a_node_is_past_its_limit_only_while_it_works() -> None:
    token = uuid4()
    assert time_limits.past(token, 0) is None
    with time_limits.within(token, "do", 0.001):
        time.sleep(0.01)
        assert time_limits.past(token, 900) == ("do", 0.001)
        assert time_limits.past(uuid4(), 0) is None
    assert time_limits.past(token, 0) is None
    with time_limits.within(token, "do", None):
        assert time_limits.past(token, 900) is None
    with pytest.raises(ZeroDivisionError), time_limits.within(token, "do", None):
        _ = 1 / 0
    assert time_limits.past(token, 0) is None


def test_a_node_past_its_limit_waits_for_siblings_within_theirs() -> None:
    token = uuid4()
    with time_limits.within(token, "hung", 0.001):
        time.sleep(0.005)
        with time_limits.within(token, "works", 900):
            assert time_limits.past(token, 900) is None
        with time_limits.within(token, "late", 0.002):
            time.sleep(0.005)
            assert time_limits.past(token, 900) == ("hung", 0.001)
        with time_limits.within(uuid4(), "of another thread", 900):
            assert time_limits.past(token, 900) == ("hung", 0.001)


class Note(State):
    note: str = ""


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_limit_is_some_seconds(seconds: float) -> None:
    with pytest.raises(GraphError, match=r"step_seconds=.* must be seconds above 0"):
        Graph("g", Note, step_seconds=seconds)
    with pytest.raises(GraphError, match=r"time_limit=.* must be seconds above 0"):
        Graph("g", Note).node(then=END, time_limit=seconds)


def test_a_slot_at_work_that_does_not_turn_is_stuck() -> None:
    watch = shared_page.Stuck(looks=3)
    assert watch.look() == []
    shared_page.turn()  # no slot of a pool: says nothing
    assert not shared_page.own_process()
    shared_page.enter(4)
    assert shared_page.own_process()
    assert [watch.look() for _ in range(5)] == [[]] * 5  # idle
    shared_page.turn()
    assert [watch.look() for _ in range(4)] == [[], [], [], [os.getpid()]]
    shared_page.turn()
    assert [watch.look() for _ in range(2)] == [[], []]
    shared_page.rest()
    assert [watch.look() for _ in range(5)] == [[]] * 5
    for _ in range(6):  # a new lease before each look
        shared_page.turn()
        assert watch.look() == []
        shared_page.rest()


@pytest.mark.slow
def test_a_slot_without_memory_meets_an_error_and_not_the_machine() -> None:
    code = (
        "import django; django.setup()\n"
        "from workers.slot.losses import bound_memory\n"
        "bound_memory(3000)\n"
        "try:\n    bytearray(4 << 30)\n"
        "except MemoryError:\n    print('bounded')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "dashboard.settings"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "bounded\n", done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.mark.django_db
@server_started(-HOUR)  # nobody takes over within a lease of the server's start
def test_a_slot_that_the_watchdog_ended_says_so_and_is_not_tried_a_third_time() -> None:
    bench = bench_of(samples)
    thread = bench.start()
    for number in (1, 2):
        work = leases.acquire(thread, owner="worker:host:1:boot") or leases.take_over(
            thread, owner="worker:host:1:boot"
        )
        assert work is not None, number
        silent = subprocess.Popen(["sleep", "60"])
        losses.end_silent(silent.pid, "worker:host:1:boot", 22.5)
        assert silent.wait() == -signal.SIGKILL
        if number == 1:
            assert store.park_crash_loops(owner="sweep") == 0
    assert leases.take_over(thread, owner="worker:other") is None
    assert store.park_crash_loops(owner="sweep") == 1
    row = bench.row(thread)
    assert row.status is Status.ATTENTION
    assert row.status_reason.startswith("The worker was lost 2 times in a row at this step")
    assert "gave no sign of life for 22.5 s, the limit, so Gatepost ended its process" in (
        row.status_reason
    )
    assert "GATEPOST_LEASE_SECONDS" in row.status_reason
    assert "memory" not in row.status_reason
