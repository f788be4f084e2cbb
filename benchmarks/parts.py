"""A worker and a web server as `up` starts them, on the servers of the bench."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from dashboard.operate.embedded.arguments import UpOptions
from dashboard.operate.embedded.bank import Bank
from dashboard.operate.embedded.parts import Web, Worker
from dashboard.operate.embedded.process import processes
from dashboard.operate.embedded.process.folders import folders

from .servers import Bench

SLOTS = 2
AGENTS = "benchmarks.agents.growth,benchmarks.agents.questions,benchmarks.agents.lead"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until[T](answer: Callable[[], T], *, seconds: float, what: str) -> T:
    """Ask until the answer is true; TimeoutError otherwise."""
    deadline = time.monotonic() + seconds
    while not (result := answer()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds} s")
        time.sleep(0.002)
    return result


def _options(bench: Bench, port: int, *, slots: int = SLOTS, pool: str = "prefork") -> UpOptions:
    return UpOptions(
        host="127.0.0.1",
        port=port,
        data=bench.data,
        workers=slots,
        pool=pool,
        demo=False,
        database_url="",
        redis_url="",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    processes.signal_group(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except Exception:
        processes.signal_group(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def worker(
    bench: Bench,
    agents: str = AGENTS,
    *,
    slots: int = SLOTS,
    pool: str = "prefork",
    host: str = "",
) -> Iterator[int]:
    """A Celery worker that listens, with the agents of the bench; its process id.

    As a host of that name it has a data folder of its own.
    """
    os.environ["GATEPOST_AGENTS"] = agents
    options = _options(bench, 0, slots=slots, pool=pool)
    elsewhere = {}
    if host:
        places = folders(bench.data)
        options = replace(options, data=bench.data.parent / host)
        (options.data / "logs").mkdir(parents=True, exist_ok=True)
        elsewhere = {
            "DATABASE_URL": f"postgresql:///gatepost?host={places.run}&user=gatepost",
            "REDIS_URL": f"unix://{places.valkey_socket}",
            "GATEPOST_SHIPPED_AGENTS": "false",
            "GATEPOST_SECRET_KEY": "of all hosts of a bench, which has no secrets to keep",
        }
    part = Worker(options)
    with patch.dict(os.environ, elsewhere):
        process = part.start()
    try:
        if not select.select([part.ready], [], [], 60)[0]:
            raise TimeoutError(f"the worker does not listen; its log: {part.log.read_text()}")
        yield process.pid
    finally:
        _end(process)


@contextmanager
def web(bench: Bench) -> Iterator[int]:
    """A web server that answers; its port."""
    with web_process(bench) as (port, _):
        yield port


@contextmanager
def web_process(bench: Bench) -> Iterator[tuple[int, int]]:
    """A web server that answers; its port and process id."""
    port = free_port()
    part = Web(_options(bench, port))
    process = part.start()

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the web server ended: {part.log.read_text()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as page:
                return bool(page.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    try:
        wait_until(answers, seconds=60, what="an answer of the web server")
        yield port, process.pid
    finally:
        _end(process)


@contextmanager
def bank(bench: Bench) -> Iterator[Path]:
    """The test bank of the data folder, which workers find by themselves; its ledger."""
    places = folders(bench.data)
    part = Bank(places)
    process = part.start()
    try:
        part.wait()
        yield places.bank_ledger
    finally:
        _end(process)
