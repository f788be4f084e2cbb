"""The web server and the worker as child processes of the supervisor."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from dashboard.configuration.import_path import python_path
from dashboard.operate.embedded import web_address

from .arguments import UpOptions
from .process import processes


def _environment(options: UpOptions, role: str) -> dict[str, str]:
    here = {"GATEPOST_BASE_URL": web_address.of(options.host, options.port)}
    return {**here, **os.environ} | {
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "dashboard.settings"),
        "GATEPOST_DATA": str(options.data),
        "GATEPOST_ROLE": role,
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": python_path(),
    }


class Web:
    """uvicorn with Django and Channels."""

    name = "web"
    stop_signal = signal.SIGTERM

    def __init__(self, options: UpOptions) -> None:
        self.options = options
        self.log = options.data / "logs" / "web.log"

    def start(self) -> subprocess.Popen[bytes]:
        return processes.start(
            [
                *(sys.executable, "-m", "uvicorn", "dashboard.asgi:application"),
                *("--host", self.options.host, "--port", str(self.options.port)),
                *("--loop", "auto", "--lifespan", "on", "--log-level", "warning"),
                # Deflate costs 40 KB and 3 ms per socket and gains nothing on short hints.
                *("--ws-per-message-deflate", "false"),
                "--no-access-log",
                # What a proxy says is believed from GATEPOST_TRUSTED_PROXIES only.
                "--no-proxy-headers",
                *("--timeout-graceful-shutdown", "1"),
            ],
            log=self.log,
            env=_environment(self.options, "web"),
            cwd=Path.cwd(),
        )


class Filler:
    """`demo` beside the others: it takes the steps of the demo's people, and ends."""

    name = "demo"
    stop_signal = signal.SIGTERM

    def __init__(self, options: UpOptions) -> None:
        self.options = options
        self.log = options.data / "logs" / "demo.log"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it."""
        return processes.start(
            [sys.executable, "-m", "django", "demo"],
            log=self.log,
            env=_environment(self.options, "web"),
            cwd=Path.cwd(),
        )


class Worker:
    """Celery with as many slots as asked for.

    `gated`: the first one imports its modules and then waits for `open_gate`, that is for tables.
    """

    name = "worker"
    stop_signal = signal.SIGTERM

    def __init__(self, options: UpOptions, *, gated: bool = False) -> None:
        self.options = options
        self.log = options.data / "logs" / "worker.log"
        self.ready = -1  # the reading end of the pipe on which the worker says that it listens
        self._gate = -1  # the writing end of the pipe on which it hears that tables are there
        self._gated = gated

    def open_gate(self) -> None:
        """Let the worker continue; later ones find the gate open."""
        self._gated = False
        if self._gate >= 0:
            os.close(self._gate)
            self._gate = -1

    def start(self) -> subprocess.Popen[bytes]:
        if self.ready >= 0:
            os.close(self.ready)
        self.ready, theirs = os.pipe()
        payload = {"GATEPOST_READY_FD": str(theirs), "CELERY_SKIP_CHECKS": "1"}
        handles = [theirs]
        if self._gated:
            gate, self._gate = os.pipe()
            payload["GATEPOST_GATE_FD"] = str(gate)
            handles.append(gate)
        try:
            return processes.start(
                [
                    *(sys.executable, "-m", "workers", "--hostname", "gatepost@%h"),
                    *("--pool", self.options.pool, "--concurrency", str(self.options.workers)),
                ],
                log=self.log,
                env=_environment(self.options, "worker") | payload,
                cwd=Path.cwd(),
                pass_fds=handles,
            )
        finally:
            for handle in handles:
                os.close(handle)
