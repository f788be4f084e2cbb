"""Starts the parts in order, keeps them working, and takes everything down together."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dashboard.operate.embedded.process import processes
from dashboard.operate.embedded.process.folders import EmbeddedError

FIRST_DELAY, LONGEST_DELAY, CALM_SECONDS = 0.5, 30.0, 60.0
LAST_RESORT_SECONDS = 5.0
LONGEST_SLEEP = 5.0  # a signal wakes before that: a child ended, or somebody asks to stop
# What workers call up to their last moment goes after them.
SERVERS = ("PostgreSQL", "Valkey", "Hot store", "bank")


class Stopped(Exception):
    """Somebody asked the supervisor to stop while it was starting."""


class Part(Protocol):
    """One child process."""

    name: str
    log: Path

    def start(self) -> subprocess.Popen[bytes]: ...


@dataclass
class _Child:
    part: Part
    stop_signal: int
    patience: float  # seconds from the stop signal to the last signal
    last_signal: int
    process: subprocess.Popen[bytes]
    started: float
    ended: Callable[[int], None] | None = None
    delay: float = FIRST_DELAY
    again_at: float | None = field(default=None)


class Supervisor:
    """All children of one `up`.

    Use from the main thread only: Linux ends children when the thread that started them ends.
    """

    def __init__(self, *, report: Callable[[str], None], lock_handle: int = -1) -> None:
        self.report = report
        self.children: list[_Child] = []
        self.stop_wanted = 0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        # Handlers come before the first child: a Ctrl-C in between would leave orphans.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, self._on_end_of_child)
        self.watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py"))],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
            pass_fds=[lock_handle] if lock_handle >= 0 else [],
        )

    def _on_signal(self, number: int, _frame: object) -> None:
        self.stop_wanted += 1
        self._wake()
        if self.stop_wanted > 2:  # somebody insists
            for child in self.children:
                processes.signal_group(child.process.pid, signal.SIGKILL)

    def _on_end_of_child(self, _number: int, _frame: object) -> None:
        self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"x")
        except OSError:
            pass

    def check(self) -> None:
        """Raises Stopped when somebody asked for an end."""
        if self.stop_wanted:
            raise Stopped

    def start(
        self,
        part: Part,
        *,
        stop_signal: int,
        patience: float,
        last_signal: int = signal.SIGKILL,
        ended: Callable[[int], None] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a part and put it under watch.

        It is stopped with `stop_signal`, and after `patience` seconds with `last_signal`. One with
        `ended` has a task that ends: that is called with its exit code then, and it is not started
        again.
        """
        self.check()
        process = part.start()
        child = _Child(part, stop_signal, patience, last_signal, process, time.monotonic(), ended)
        self.children.append(child)
        self._watch(child)
        return process

    def start_again(self, part: Part) -> None:
        """Start a part again that ended while its starter waited for it."""
        child = next(child for child in self.children if child.part is part)
        self._note(f"- {child.process.pid}")
        self._start_again(child, time.monotonic())

    def keep(self) -> None:
        """Work until asked to stop; a child that ends is started again, later each time."""
        while not self.stop_wanted:
            waits = any(child.again_at is not None for child in self.children)
            if select.select([self._wake_read], [], [], 0.2 if waits else LONGEST_SLEEP)[0]:
                os.read(self._wake_read, 1024)
            now = time.monotonic()
            for child in [*self.children]:
                if self.stop_wanted:
                    return
                self._look_after(child, now)

    def _look_after(self, child: _Child, now: float) -> None:
        if child.again_at is None:
            code = child.process.poll()
            if code is None:
                return
            self._note(f"- {child.process.pid}")
            processes.signal_group(child.process.pid, signal.SIGKILL)  # what it left in its group
            if child.ended is not None:
                self.children.remove(child)
                child.ended(code)
                return
            if now - child.started > CALM_SECONDS:
                child.delay = FIRST_DELAY
            child.again_at = now + child.delay
            self.report(
                f"{child.part.name} ended by itself ({_cause(code)}), starts again in "
                f"{child.delay:g} s; its log: {child.part.log}"
            )
            child.delay = min(child.delay * 2, LONGEST_DELAY)
        elif now >= child.again_at:
            self._start_again(child, now)

    def _start_again(self, child: _Child, now: float) -> None:
        try:
            child.process = child.part.start()
        except (OSError, EmbeddedError) as error:
            # A full disk, no memory for a process: that passes, and the others continue.
            child.again_at = now + child.delay
            reason = getattr(error, "strerror", None) or error
            self.report(
                f"{child.part.name} cannot be started ({reason}), tried again in {child.delay:g} s"
            )
            child.delay = min(child.delay * 2, LONGEST_DELAY)
            return
        child.started, child.again_at = now, None
        self._watch(child)

    def stop(self) -> None:
        """End the children in waves, last started first: web and workers, then servers."""
        servers = [child for child in self.children if child.part.name in SERVERS]
        others = [child for child in self.children if child not in servers]
        for wave in (others, servers):
            self._stop(wave)
        if self.watchdog.stdin and not self.watchdog.stdin.closed:
            try:
                self.watchdog.stdin.close()
            except OSError:
                pass
        self.watchdog.wait(2)

    def _stop(self, wave: Iterable[_Child]) -> None:
        request = time.monotonic()
        waiting = [child for child in wave if child.process.poll() is None]
        for child in waiting:
            child.process.send_signal(child.stop_signal)
        killed: set[int] = set()
        while waiting:
            time.sleep(0.01)
            for child in waiting:
                late = time.monotonic() - request
                if child.process.poll() is not None or late < child.patience:
                    continue
                if child.process.pid not in killed:
                    killed.add(child.process.pid)
                    processes.signal_group(child.process.pid, child.last_signal)
                elif late > child.patience + LAST_RESORT_SECONDS:
                    processes.signal_group(child.process.pid, signal.SIGKILL)
            waiting = [child for child in waiting if child.process.poll() is None]
        for child in wave:
            processes.signal_group(child.process.pid, signal.SIGKILL)
            self._note(f"- {child.process.pid}")

    def _watch(self, child: _Child) -> None:
        signals = f"{int(child.stop_signal)} {int(child.last_signal)}"
        self._note(f"+ {child.process.pid} {signals}")

    def _note(self, line: str) -> None:
        """Call the watchdog; without one (it was killed) Linux still ends the children with us."""
        if self.watchdog.stdin is None:
            return
        try:
            self.watchdog.stdin.write(line + "\n")
            self.watchdog.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
