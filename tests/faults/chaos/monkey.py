"""What strikes: kills, stops, restarts, each while threads are being worked on, and counted.

A strike is due by the share of threads that have ended, so that all of them fall into the work
whatever the machine is worth. It counts when threads were running at the moment before.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import disturbances
from .ground import LEASE, Ground, Look, Worker, wait_until
from .people import People
from .tasks import with_others

# The last threads end in peace: by then all has struck.
STRUCK_BY = 0.95
WORK_SECONDS = 60.0  # within which something is being worked on
PAST_LEASE = LEASE + 30.0
_RUNNING = (
    "SELECT id::text, split_part(lease_owner, ':', 3)::integer FROM gp_thread "
    "WHERE status = 'running' AND lease_until > clock_timestamp()"
)
_HELD = (
    "SELECT id FROM gp_thread WHERE status = 'running' "
    "AND split_part(lease_owner, ':', 3) = ANY(%s)"
)


class Monkey:
    """Strikes by plan; called from the main thread, which alone may start processes."""

    def __init__(
        self, ground: Ground, people: People, plan: list[str], seed: int, log: Path, waited: Path
    ):
        self._ground, self._people, self._plan = ground, people, plan
        self._look = Look(ground.address)
        self._random = random.Random(f"strikes-{seed}")
        self._file, self._waited = log.open("a", buffering=1), waited.open("a", buffering=1)
        self._printed_at = 0.0
        self.struck: Counter[str] = Counter()
        self.missed = 0

    @property
    def left(self) -> int:
        return len(self._plan) - self.struck.total()

    def work(self, threads: int, deadline: float) -> None:
        """Strike until the plan is done and all threads have ended, or the time is over."""
        while time.monotonic() < deadline:
            if self._people.trouble is not None:
                raise RuntimeError("the people had trouble") from self._people.trouble
            self._ground.tend()
            self._print_progress(threads)
            if not self.left and self._people.done:
                return
            due = len(self._plan) * self._people.ended / max(1, with_others(threads) * STRUCK_BY)
            if self.left and self.struck.total() <= due:
                self._people.go_on()
                self._strike(self._plan[self.struck.total()])
            else:
                time.sleep(0.02)
        self._look.close()

    def _print_progress(self, threads: int) -> None:
        now = time.monotonic()
        if now - self._printed_at > 5:
            self._printed_at = now
            print(
                f"{self._people.ended} of {with_others(max(threads, self._people.goal))} threads "
                "ended, "
                f"{self.struck.total()} of {len(self._plan)} strikes",
                file=sys.stderr,
                flush=True,
            )

    def _strike(self, kind: str) -> None:
        strike: Callable[[], int] = getattr(self, f"_{kind}")
        time.sleep(self._random.random() * 0.05)  # anywhere in a step
        self._note_waiting()
        running = strike()
        if not running:
            raise RuntimeError(f"nothing was being worked on when it was time for {kind}")
        self.struck[kind] += 1
        line = {"kind": kind, "running": running, "ended": self._people.ended}
        self._file.write(json.dumps(line) + "\n")

    # ---- whom ----

    def _running(self) -> list[tuple[Any, ...]]:
        """(thread, process) of what is being worked on; waits until something is."""
        deadline = time.monotonic() + WORK_SECONDS
        while time.monotonic() < deadline:
            if rows := self._look.rows(_RUNNING):
                return rows
            self._people.go_on()
            self._ground.tend()
            time.sleep(0.01)
        return []

    def _worker_of(self, pid: int) -> Worker | None:
        return next((w for w in self._ground.workers if w.alive and pid in w.slots()), None)

    def _hit(self, pids: list[int]) -> list[Any]:
        """Threads whose lease these processes still hold: they were hit in the middle."""
        return self._look.rows(_HELD, [str(pid) for pid in pids]) or []

    def _on_worker(self, strike: Callable[[Worker, int], bool], *, alone: bool) -> int:
        """Strike a worker that works until it is hit in the middle; how many threads ran then.

        `alone`: only while another worker listens, so that somebody finds what this one leaves.
        """
        deadline = time.monotonic() + WORK_SECONDS
        while time.monotonic() < deadline:
            running = self._running()
            self._random.shuffle(running)
            for _, pid in running:
                worker = self._worker_of(pid)
                if worker is None:
                    continue
                listening = self._ground.listening(self._look) if alone else []
                if alone and not any(other is not worker for other in listening):
                    time.sleep(0.1)
                elif strike(worker, pid):
                    return len(running)
                else:
                    self.missed += 1
                break
        return 0

    # ---- strikes: each answers how many threads were running ----

    def _kill_slot(self) -> int:
        def strike(worker: Worker, pid: int) -> bool:
            os.kill(pid, signal.SIGKILL)
            return bool(self._hit([pid]))

        return self._on_worker(strike, alone=False)

    def _kill_worker(self) -> int:
        def strike(worker: Worker, pid: int) -> bool:
            pids = worker.slots()
            worker.kill()
            hit = bool(self._hit(pids))
            worker.start()
            return hit

        return self._on_worker(strike, alone=True)

    def _stop_worker(self) -> int:
        """SIGSTOP until what it worked on is somebody else's, then SIGCONT."""

        def strike(worker: Worker, pid: int) -> bool:
            pids = worker.slots()
            worker.signal(signal.SIGSTOP)
            try:
                return self._taken_over(pids)
            finally:
                worker.signal(signal.SIGCONT)

        return self._on_worker(strike, alone=True)

    def _taken_over(self, pids: list[int]) -> bool:
        """Wait until what these work on is somebody else's; whether they worked on anything."""
        if not self._hit(pids):
            return False
        deadline = time.monotonic() + PAST_LEASE
        while self._hit(pids):
            if time.monotonic() > deadline:
                raise RuntimeError("nobody took over from a worker that is stopped or parted")
            time.sleep(0.05)
        return True

    def _kill_web(self) -> int:
        running = len(self._running())
        web = self._random.choice(self._ground.webs)
        web.kill()
        web.start()
        wait_until(web.answers, what=f"an answer of {web.name}")
        return running

    def _kill_valkey(self) -> int:
        running = len(self._running())
        server = self._ground.valkey
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        time.sleep(self._random.random() * 2)
        server.start()
        server.wait()
        return running

    def _kill_hot(self) -> int:
        """kill -9 of the hot store while steps wait in it."""
        waiting = self._wait_for_waiting()
        server = self._ground.hot
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        time.sleep(self._random.random() * 2)
        server.start()
        server.wait()
        return waiting

    def _stop_hot(self) -> int:
        """SIGSTOP of the hot store for longer than anybody waits for its answer, then SIGCONT."""
        waiting = self._wait_for_waiting()
        server = self._ground.hot
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(disturbances.FROZEN_SECONDS)
        finally:
            server.process.send_signal(signal.SIGCONT)
        return waiting

    def _wait_for_waiting(self) -> int:
        """How many steps wait in the hot store, once there are some; each is noted."""
        deadline = time.monotonic() + WORK_SECONDS
        while time.monotonic() < deadline:
            if waiting := self._note_waiting():
                return waiting
            self._people.go_on()
            self._ground.tend()
            time.sleep(0.01)
        return 0

    def _note_waiting(self) -> int:
        """Note the steps that the hot store has acknowledged: none of them may be lost."""
        steps = disturbances.waiting_steps(self._ground.places)
        for step in steps:
            self._waited.write(json.dumps(step) + "\n")
        return len(steps)

    def _flush_valkey(self) -> int:
        running = len(self._running())
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self._ground.places.valkey_socket))
            client.sendall(b"FLUSHALL\r\n")
            if not client.recv(16).startswith(b"+OK"):
                raise RuntimeError("Valkey did not forget")
        return running

    def _poison_queue(self) -> int:
        running = len(self._running())
        disturbances.poison_queue(self._ground.places, self._random)
        return running

    def _fill_disk(self) -> int:
        running = len(self._running())
        with disturbances.full_disk(self._ground.places):
            time.sleep(disturbances.FULL_SECONDS)
        return running

    def _freeze_lock(self) -> int:
        """A session holds the row of a thread at work for longer than its lease."""
        running = self._running()
        if running:
            thread, _ = self._random.choice(running)
            with disturbances.frozen_lock(self._ground.address, thread):
                time.sleep(LEASE + 1)
        return len(running)

    def _step_clock(self) -> int:
        """A worker dies, and the clock steps back: its leases seem to hold for another hour."""

        def strike(worker: Worker, pid: int) -> bool:
            pids = worker.slots()
            worker.kill()
            hit = bool(self._hit(pids))
            disturbances.step_clock_back(self._ground.address)
            worker.start()
            return hit

        return self._on_worker(strike, alone=True)

    def _postgres_fast(self) -> int:
        return self._restart(signal.SIGINT)

    def _postgres_immediate(self) -> int:
        return self._restart(signal.SIGQUIT)

    def _restart(self, how: signal.Signals) -> int:
        running = len(self._running())
        server = self._ground.postgres
        assert server.process is not None
        server.process.send_signal(how)
        server.process.wait()
        time.sleep(self._random.random())
        server.start()
        server.wait()
        return running

    # ---- strikes at one of several hosts ----

    def _lose_host(self) -> int:
        """A machine is gone with its folders; another one comes in its place."""

        def strike(worker: Worker, pid: int) -> bool:
            pids = worker.slots()
            worker.kill()
            hit = bool(self._hit(pids))
            worker.machine.erase()
            worker.machine.make_folders()
            worker.start()
            return hit

        return self._on_worker(strike, alone=True)

    def _part_host(self) -> int:
        return self._part_until_taken_over()

    def _part_postgres(self) -> int:
        return self._part_until_taken_over("postgres")

    def _part_until_taken_over(self, *ways: str) -> int:
        """A worker's host reaches nothing, or not these, until its work is somebody else's."""

        def strike(worker: Worker, pid: int) -> bool:
            pids = worker.slots()
            worker.machine.part(*ways)
            try:
                return self._taken_over(pids)
            finally:
                worker.machine.join()

        return self._on_worker(strike, alone=True)

    def _part_valkey(self) -> int:
        return self._part_for_a_while("valkey", "hot")

    def _part_files(self) -> int:
        return self._part_for_a_while("files")

    def _part_for_a_while(self, *ways: str) -> int:
        """A worker's host does not reach these, and keeps its leases meanwhile."""

        def strike(worker: Worker, pid: int) -> bool:
            worker.machine.part(*ways)
            try:
                hit = bool(self._hit(worker.slots()))
                if hit:
                    time.sleep(disturbances.FROZEN_SECONDS)
            finally:
                worker.machine.join()
            return hit

        return self._on_worker(strike, alone=False)

    def _part_web(self) -> int:
        """A web host reaches no server, and no person reaches it."""
        running = len(self._running())
        machine = self._random.choice(self._ground.webs).machine
        machine.part()
        try:
            time.sleep(disturbances.FROZEN_SECONDS)
        finally:
            machine.join()
        return running

    def _stop_web(self) -> int:
        running = len(self._running())
        web = self._random.choice(self._ground.webs)
        web.signal(signal.SIGSTOP)
        try:
            time.sleep(disturbances.FROZEN_SECONDS)
        finally:
            web.signal(signal.SIGCONT)
        return running
