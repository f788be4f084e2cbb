"""A whole Gatepost for one test: web server and worker as processes of their own, real data."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dashboard.operate.embedded.arguments import from_command_line
from dashboard.operate.embedded.parts import Web, Worker
from dashboard.operate.embedded.process import processes
from tests.faults.embedded.helpers import free_port, responds, wait_until


@dataclass
class Site:
    """Where it answers, and its processes."""

    url: str
    web: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes] | None
    logs: Path

    def log(self, name: str) -> str:
        """What `web` or `worker` wrote."""
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


@contextmanager
def started_site(*, slots: int = 2, pool: str = "prefork", **environment: str) -> Iterator[Site]:
    """Start web and worker (none for `slots=0`) on the database and Valkey of now.

    `environment` is given to both, for example GATEPOST_POLL_SECONDS="600". The agents that ship
    are left out, as a worker needs a second to load them; GATEPOST_SHIPPED_AGENTS="true" has them.
    """
    environment.setdefault("GATEPOST_SHIPPED_AGENTS", "false")
    import redis
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushall()  # doorbells of databases that are gone
    data = Path(os.environ["GATEPOST_DATA"])
    port = free_port()
    options = from_command_line(
        [
            "--data-dir",
            str(data),
            "--port",
            str(port),
            "--workers",
            str(max(slots, 1)),
            "--pool",
            pool,
        ]
    )
    parts = (Web(options), Worker(options))
    for part in parts:
        part.log.unlink(missing_ok=True)
    former = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(parts[0].start())
        if slots:
            running.append(parts[1].start())
        site = Site(
            f"http://127.0.0.1:{port}", running[0], running[1] if slots else None, data / "logs"
        )
        wait_until(lambda: _answers(site), seconds=60, what=f"the site ({site.log('web')[-500:]})")
        if slots:
            heard = select.select([parts[1].ready], [], [], 60)[0]
            assert heard, site.log("worker")[-2000:]
            assert os.read(parts[1].ready, 1), site.log("worker")[-2000:]
        yield site
    finally:
        for name, value in former.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        for process in running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 2
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            processes.signal_group(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def second_web_process(site: Site) -> Iterator[Site]:
    """Start another web process on the database of a site; inside of `started_site`."""
    data, port = Path(os.environ["GATEPOST_DATA"]), free_port()
    part = Web(from_command_line(["--data-dir", str(data), "--port", str(port)]))
    former = os.environ.get("GATEPOST_BASE_URL")
    os.environ["GATEPOST_BASE_URL"] = site.url  # both stand behind one address
    try:
        process = part.start()
    finally:
        os.environ.pop("GATEPOST_BASE_URL")
        if former is not None:
            os.environ["GATEPOST_BASE_URL"] = former
    second = Site(f"http://127.0.0.1:{port}", process, None, site.logs)
    try:
        wait_until(lambda: _answers(second), seconds=60, what="the second web process")
        yield second
    finally:
        processes.signal_group(process.pid, signal.SIGKILL)
        process.wait()


def _answers(site: Site) -> bool:
    assert site.web.poll() is None, site.log("web")[-2000:]
    return responds(f"{site.url}/healthz")
