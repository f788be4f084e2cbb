"""The supervisor leaves nothing behind, whichever way it ends, and replaces what died."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.faults.embedded.helpers import ROOT, processes_naming, wait_until

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.hazard,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc"),
]


class Supervised:
    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.embedded.supervised", self.mark],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        assert self.line() == "started"
        wait_until(lambda: len(self.children()) == 4, seconds=10, what="four children")

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def children(self) -> list[int]:
        return [pid for pid, _ in processes_naming(self.mark) if pid != self.process.pid]


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    started = Supervised()
    yield started
    started.process.kill()
    started.process.wait()
    assert started.process.stdout is not None
    started.process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all(supervised: Supervised, number: int) -> None:
    request = time.monotonic()
    supervised.process.send_signal(number)
    assert supervised.process.wait(5) == 0
    assert time.monotonic() - request < 3
    assert supervised.children() == []


def test_a_kill_leaves_no_orphan(supervised: Supervised) -> None:
    supervised.process.kill()
    took = wait_until(lambda: not supervised.children(), seconds=3, what="the end of all")
    assert took <= 1.0


def test_a_kill_leaves_no_orphan_without_the_watchdog(supervised: Supervised) -> None:
    """Then Linux itself ends the children; only a grandchild that ignores everything could stay."""
    if not sys.platform.startswith("linux"):
        pytest.skip("Linux only")
    watchdogs = [
        pid
        for pid, command in processes_naming("watchdog.py")
        if parent_of(pid) == supervised.process.pid
    ]
    assert len(watchdogs) == 1
    children = [p for p in supervised.children() if parent_of(p) == supervised.process.pid]
    assert len(children) == 3
    os.kill(watchdogs[0], signal.SIGKILL)
    supervised.process.kill()
    wait_until(
        lambda: not set(children) & set(supervised.children()), seconds=2, what="the end of all"
    )
    for pid in supervised.children():
        os.kill(pid, signal.SIGKILL)


def test_a_dead_child_is_replaced_with_growing_delay(supervised: Supervised) -> None:
    victims = [pid for pid in supervised.children() if parent_of(pid) == supervised.process.pid]
    seen = []
    for delay in ("0.5", "1"):
        obedient = min(victims) if not seen else newest(supervised, seen)
        seen.append(obedient)
        os.kill(obedient, signal.SIGKILL)
        line = supervised.line()
        assert "ended by itself (signal SIGKILL)" in line
        assert f"starts again in {delay} s" in line
        wait_until(lambda: len(supervised.children()) == 4, seconds=5, what="a new child")


def newest(supervised: Supervised, seen: list[int]) -> int:
    """The replacement of the child that was killed first: it started last."""
    candidates = [p for p in supervised.children() if parent_of(p) == supervised.process.pid]
    return max(set(candidates) - set(seen), key=start_time)


def start_time(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def parent_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except FileNotFoundError:
        return 0


def test_a_part_that_cannot_be_started_is_tried_again() -> None:
    """A full disk (the log cannot be opened) ends neither the supervisor nor the other parts."""
    code = (
        "import errno, os, signal, sys\n"
        "from tests.faults.embedded.supervised import OBEDIENT, Sleeper\n"
        "from dashboard.operate.embedded.process.supervisor import Supervisor\n"
        "class Full(Sleeper):\n"
        "    starts = 0\n"
        "    def start(self):\n"
        "        self.starts += 1\n"
        "        if self.starts == 2:\n"
        "            raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "        return super().start()\n"
        "supervisor = Supervisor(report=lambda text: print(text, flush=True))\n"
        "part = Full('worker', OBEDIENT, sys.argv[1])\n"
        "started = supervisor.start(part, stop_signal=signal.SIGTERM, patience=1.0)\n"
        "os.kill(started.pid, signal.SIGKILL)\n"
        "supervisor.keep()\n"
        "supervisor.stop()\n"
        "print(f'started {part.starts} times', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, uuid.uuid4().hex],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert "ended by itself (signal SIGKILL)" in process.stdout.readline()
    assert "cannot be started (No space left on device), tried again in 1 s" in (
        process.stdout.readline()
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline().strip() == "started 3 times"
    assert process.wait(5) == 0
    process.stdout.close()


def test_a_part_with_a_task_that_ends_is_not_started_again() -> None:
    code = (
        "import signal, sys\n"
        "from tests.faults.embedded.supervised import Sleeper\n"
        "from dashboard.operate.embedded.process.supervisor import Supervisor\n"
        "def ended(code):\n"
        "    print(f'ended with {code}', flush=True)\n"
        "    supervisor.stop_wanted = 1\n"
        "supervisor = Supervisor(report=print)\n"
        "part = Sleeper('demo', 'raise SystemExit(3)', sys.argv[1])\n"
        "supervisor.start(part, stop_signal=signal.SIGTERM, patience=1.0, ended=ended)\n"
        "supervisor.keep()\n"
        "print(len(supervisor.children), flush=True)\n"
        "supervisor.stop()\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, uuid.uuid4().hex],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=30,
    )
    assert process.stdout.splitlines() == ["ended with 3", "0"]
