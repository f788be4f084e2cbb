"""Row 14: `make up` on a data folder that exists: ready, Ctrl-C, and what a SIGKILL leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..parts import free_port
from ..report import Measured
from ..servers import scratch_folder

ROOT = Path(__file__).resolve().parents[2]
LAST_LINE = "\n  Stop  "


def living(data: Path) -> list[int]:
    """Processes that have the data folder in their command or environment, zombies left out."""
    results = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            payload = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except (OSError, IndexError):
            continue
        if state != "Z" and os.fsencode(data) in payload:
            results.append(int(entry.name))
    return results


class Up:
    """`make up` in a process group of its own, as a terminal would start it."""

    def __init__(self, data: Path, output: Path, *flags: str, folder: Path = ROOT) -> None:
        self.data, self.output = data, output
        self.began = time.monotonic()
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GATEPOST_", "DJANGO_", "MAKE", "MFLAGS"))
            and name not in ("DATABASE_URL", "REDIS_URL")
        }
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                ["make", "up", f"PORT={free_port()}", f"DATA={data}", *flags],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def wait_ready(self) -> float:
        """Seconds from the command until the last line of its table stands there."""

        def ready() -> bool:
            if self.process.poll() is not None:
                raise RuntimeError(f"up ended: {self.output.read_text()[-500:]}")
            return LAST_LINE in self.output.read_text()

        self._wait(ready, 120)
        return time.monotonic() - self.began

    def press_ctrl_c(self) -> float:
        """Seconds until nothing is left."""
        request = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(30)
        self._wait(lambda: not living(self.data), 30)
        return time.monotonic() - request

    def kill_supervisor(self) -> None:
        """SIGKILL to the one that watches all others."""
        for pid in living(self.data):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"up" in command and any(part.endswith(b"manage.py") for part in command):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def end(self) -> None:
        """Leave nothing behind, whatever happened."""
        for pid in living(self.data):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _wait(self, true: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds} s: {self.output.read_text()[-500:]}")
            time.sleep(0.01)


def measure(scale: float) -> Measured:
    """The first start makes the data folder; two further ones are timed; the last is killed."""
    if not sys.platform.startswith("linux"):
        raise RuntimeError("orphans are looked for in /proc, which is not here")
    with scratch_folder() as home:
        data, ready, stopped = home / "data", [], []
        ups: list[Up] = []
        try:
            ups.append(Up(data, home / "first.txt"))
            first = ups[-1].wait_ready()
            ups[-1].press_ctrl_c()
            for turn in range(3 if scale >= 1 else 1):
                ups.append(Up(data, home / f"second-{turn}.txt"))
                ready.append(ups[-1].wait_ready())
                stopped.append(ups[-1].press_ctrl_c())
            ups.append(Up(data, home / "last.txt"))
            ups[-1].wait_ready()
            parts = len(living(data))
            ups[-1].kill_supervisor()
            time.sleep(2)
            orphans = len(living(data))
        finally:
            for up in ups:
                up.end()
    ready.sort()
    stopped.sort()
    return Measured(
        {
            "ready": ready[len(ready) // 2],
            "stopped": stopped[len(stopped) // 2],
            "orphans": orphans,
        },
        details={
            "first_start_s": round(first, 2),
            "second_starts_s": [round(seconds, 2) for seconds in ready],
            "stops_s": [round(seconds, 2) for seconds in stopped],
            "processes_before_the_kill": parts,
        },
    )
