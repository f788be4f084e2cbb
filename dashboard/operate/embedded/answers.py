"""Ready means answered: the page by HTTP, the worker by its canary."""

import http.client
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .arguments import UpOptions
from .checks import is_loopback
from .parts import Web, Worker
from .process.folders import EmbeddedError


def wait_for_web(web: Web, process: subprocess.Popen[bytes], check: Callable[[], None]) -> None:
    """Wait until pages are served; raises EmbeddedError with the reason when that fails."""
    _wait(lambda: page_answers(web.options), process, "The web server", web.log, check)


def wait_for_worker(
    worker: Worker,
    process: subprocess.Popen[bytes],
    answers: Callable[[], bool],
    check: Callable[[], None],
) -> None:
    """Wait until the worker listens, then until one of its slots has answered the canary."""

    def listens() -> bool:
        return bool(select.select([worker.ready], [], [], 0)[0])

    for condition in (listens, answers):
        _wait(condition, process, "The worker", worker.log, check)


def page_answers(options: UpOptions) -> bool:
    """Liveness first, then a page that people see, so that nobody meets a cold template."""
    host = options.host if is_loopback(options.host) else "127.0.0.1"
    for path in ("/healthz", "/login/"):
        page = http.client.HTTPConnection(host, options.port, timeout=10)
        try:
            page.request("GET", path, headers={"Host": f"localhost:{options.port}"})
            if page.getresponse().status != 200:
                return False
        except (OSError, http.client.HTTPException):
            return False
        finally:
            page.close()
    return True


def worker_answers(pid: int) -> bool:
    """True if the worker of this process has given a sign of life since it was announced."""
    from django.db import connection

    from checkpoints import queries

    try:
        return any(w.pid == pid and w.alive and w.seen_at > w.started_at for w in queries.workers())
    finally:
        connection.close()


def _wait(
    answers: Callable[[], bool],
    process: subprocess.Popen[bytes],
    name: str,
    log: Path,
    check: Callable[[], None],
    timeout: float = 60.0,
) -> None:
    deadline = time.monotonic() + timeout
    while True:
        check()
        if process.poll() is not None:
            raise EmbeddedError(f"{name} ended while starting: {_last_line(log)} (log: {log})")
        if answers():
            return
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{name} does not answer; its log says why: {log}")
        time.sleep(0.02)


def _last_line(log: Path) -> str:
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "no log"
    return lines[-1].strip()[:300] if lines else "no reason given"
