"""The web server and the worker as child processes of the supervisor."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from dashboard.embedded import processes
from dashboard.embedded.arguments import UpOptions

ROOT = Path(__file__).resolve().parent.parent.parent


def _environment(options: UpOptions, role: str) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "dashboard.settings"),
        "GATEPOST_DATA": str(options.data),
        "GATEPOST_ROLE": role,
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))),
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
                *("--loop", "uvloop", "--lifespan", "on", "--log-level", "warning"),
                # Deflate costs 40 KB and 3 ms per socket and gains nothing on short hints.
                *("--ws-per-message-deflate", "false"),
                "--no-access-log",
                *("--timeout-graceful-shutdown", "1"),
            ],
            log=self.log,
            env=_environment(self.options, "web"),
            cwd=Path.cwd(),
        )


class Worker:
    """Celery with as many slots as asked for."""

    name = "worker"
    stop_signal = signal.SIGTERM

    def __init__(self, options: UpOptions) -> None:
        self.options = options
        self.log = options.data / "logs" / "worker.log"
        self.ready = -1  # the reading end of the pipe on which the worker says that it listens

    def start(self) -> subprocess.Popen[bytes]:
        if self.ready >= 0:
            os.close(self.ready)
        self.ready, theirs = os.pipe()
        environment = _environment(self.options, "worker") | {
            "GATEPOST_READY_FD": str(theirs),
            "CELERY_SKIP_CHECKS": "1",  # `up` itself has just done them
        }
        try:
            return processes.start(
                [
                    *(
                        sys.executable,
                        "-m",
                        "celery",
                        "--quiet",
                        "--app",
                        "workers.celery:app",
                        "worker",
                    ),
                    *("--pool", self.options.pool, "--concurrency", str(self.options.workers)),
                    *("--hostname", "gatepost@%h", "--loglevel", "WARNING"),
                    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
                ],
                log=self.log,
                env=environment,
                cwd=Path.cwd(),
                pass_fds=(theirs,),
            )
        finally:
            os.close(theirs)
