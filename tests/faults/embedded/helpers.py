"""Looking at processes from outside, the way an administrator would."""

import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def pauses(first: float = 0.01, longest: float = 0.05) -> Iterator[float]:
    """Seconds between two looks: few at first, then more, since each look takes a processor from
    those who are waited for.
    """
    while True:
        yield first
        first = min(1.1 * first, longest)


def wait_until(true: Callable[[], object], *, seconds: float, what: str = "it") -> float:
    """Wait for something to become true; gives the seconds it took."""
    started, pause = time.monotonic(), pauses()
    while not true():
        waited = time.monotonic() - started
        assert waited < seconds, f"{what} did not happen in {seconds} s"
        time.sleep(next(pause))
    return time.monotonic() - started


def responds(address: str) -> bool:
    """Whether something answers there with 200; httpx would read all certificates first."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def processes_naming(text: str) -> list[tuple[int, str]]:
    """Living processes (id, command line) that have the text in their command or environment."""
    results = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            command = (entry / "cmdline").read_bytes()
            everything = command + b"\0" + (entry / "environ").read_bytes()
        except (OSError, IndexError):
            continue
        if state != "Z" and text.encode() in everything:
            results.append((int(entry.name), command.replace(b"\0", b" ").decode()))
    return results


# Below those that systems give to whoever asks for any port, and to each outgoing connection: one
# that was found free stays free until its server listens.
PORTS = range(20_000, 32_000)
_taken_ports: set[int] = set()


def free_port() -> int:
    """A port on which nobody listens; never the same twice."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        if port in _taken_ports:
            continue
        _taken_ports.add(port)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def clean_environment() -> dict[str, str]:
    """The environment of somebody's shell: nothing of this test run in it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GATEPOST_", "DJANGO_"))
        and name not in ("DATABASE_URL", "REDIS_URL")
    }


class Up:
    """One `manage.py up` in a child process, its output in a file."""

    def __init__(
        self, data: Path, *flags: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self.data = data
        self.port = free_port()
        self.output = data.with_name(data.name + f"-{self.port}.txt")
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, str(ROOT / "manage.py"), "up"),
                    *("--data-dir", str(data), "--port", str(self.port)),
                    *flags,
                ],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=clean_environment() | dict(environment or {}),
                cwd=ROOT,
            )

    @property
    def text(self) -> str:
        return self.output.read_text()

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.text
            return "\n  Stop  " in self.text  # the last line of the table

        wait_until(ready, seconds=180, what="up")

    def wait_ended(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)

    def leftovers(self) -> list[tuple[int, str]]:
        return processes_naming(str(self.data))


@contextmanager
def up(data: Path, *flags: str, environment: Mapping[str, str] | None = None) -> Iterator[Up]:
    """Start, wait until ready, and end it afterwards whatever happened."""
    started = Up(data, *flags, environment=environment)
    try:
        started.wait_ready()
        yield started
    finally:
        started.process.terminate()
        try:
            started.process.wait(10)
        except subprocess.TimeoutExpired:
            started.process.kill()
            started.process.wait()
