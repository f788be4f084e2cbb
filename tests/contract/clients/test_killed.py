"""kill -9 at each point of a script: another process goes on, steps once, the effect once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .bench import LEASE_SECONDS, SCRIPTS, Script, Server, lines, pause, payload, python, wait_file

pytestmark = pytest.mark.slow  # each test starts processes
AGENT = "payments-killed"
# Place: (how often `load` is called, whether people have decided before the kill).
POINTS = {
    "in load": (2, False),
    "before the record of load": (2, False),
    "between": (1, False),
    "gate": (1, False),
    "before paying": (1, True),
    "after paying": (1, True),
    "before the record of pay": (1, True),
    "at the end": (1, True),
    "before the record of end": (1, True),
}


def test_killed_anywhere_it_goes_on_elsewhere_and_pays_once(
    server: Server, script: Callable[..., Script], tmp_path: Path
) -> None:
    def outside(point: str) -> Path:
        folder = tmp_path / "world" / point.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def started(point: str, machine: str, **more: str) -> Script:
        command = python(SCRIPTS / "payments.py", point)
        return script(*command, folder=f"{machine}/{point}", OUTSIDE=str(outside(point)), **more)

    with ThreadPoolExecutor(3) as pool:
        firsts = {point: started(point, "first", HOLD=point) for point in POINTS}

        def reach(point: str) -> None:
            if point == "gate" or POINTS[point][1]:
                thread = server.wait_thread(AGENT, point)
                if POINTS[point][1]:
                    server.decide(thread)
                else:
                    server.wait_request(thread)
            if point != "gate":
                wait_file(outside(point) / f"at-{point}")

        list(pool.map(reach, POINTS))
    for first in firsts.values():
        first.kill()
    server.decide(server.wait_thread(AGENT, "gate"))  # while no process is there
    pause(LEASE_SECONDS)
    seconds = {point: started(point, "second") for point in POINTS}
    for point, (_, decided) in POINTS.items():
        if not decided and point != "gate":
            server.decide(server.wait_thread(AGENT, point))
    results = {point: payload(second.end()) for point, second in seconds.items()}
    assert results == {
        point: {"receipt": "receipt for 40", "which": point, "colour": "none"} for point in POINTS
    }
    assert {point: len(lines(outside(point) / "load")) for point in POINTS} == {
        point: calls for point, (calls, _) in POINTS.items()
    }
    assert {point: lines(outside(point) / "paid") for point in POINTS} == {
        point: ["40 Müller"] for point in POINTS
    }
    # Called again with the same key where the outcome was unknown, never with another one.
    assert {point: len(set(lines(outside(point) / "called"))) for point in POINTS} == dict.fromkeys(
        POINTS, 1
    )
    for point in POINTS:
        thread = server.thread(AGENT, point)
        assert thread["status"] == "succeeded"
        assert server.manager.get(f"/threads/{thread['id']}/state/")["state"]["result"]
    thirds = [started(point, "third") for point in list(POINTS)[:2]]
    for point, third in zip(POINTS, thirds, strict=False):
        assert payload(third.end()) == results[point]  # a finished thread only answers


def test_a_process_that_stood_still_finds_its_lease_lost_and_records_nothing(
    server: Server, script: Callable[..., Script], tmp_path: Path
) -> None:
    def started() -> Script:
        command = python(SCRIPTS / "choices.py", "stays", "frozen")
        return script(*command, OUTSIDE=str(tmp_path))

    (tmp_path / "staying.hold").touch()
    first = started()
    wait_file(tmp_path / "staying")
    pause(LEASE_SECONDS + 1)  # a step may take longer than a lease: it is renewed
    assert server.thread("stays", "frozen")["status"] == "running"
    first.signal(signal.SIGSTOP)
    (tmp_path / "staying.hold").unlink()
    assert payload(started().end()) == [6, 7]
    thread = server.wait_thread("stays", "frozen")
    assert server.thread("stays", "frozen")["fence"] == 2
    before = server.thread("stays", "frozen")["last_seq"]
    first.signal(signal.SIGCONT)
    assert "LeaseLost: " in first.end(1)
    assert server.thread("stays", "frozen")["last_seq"] == before
    assert server.wait_status(thread, "succeeded")
