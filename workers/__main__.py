"""`python -m workers`: start a Celery worker without loading Celery's command line."""

import gc

# Nothing that an import makes is garbage: to look for some takes a tenth of the start.
gc.disable()

import argparse  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from typing import NoReturn  # noqa: E402

from celery.utils.nodenames import default_nodename, host_format  # noqa: E402
from django.conf import settings  # noqa: E402

from checkpoints.outbound import own_secrets  # noqa: E402

from .celery import app  # noqa: E402


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m workers", description="Work on steps of threads.")
    parser.add_argument("--concurrency", type=int, help="slots; by default as many as processors")
    parser.add_argument("--pool", default="prefork", choices=("prefork", "threads"))
    parser.add_argument("--queues", help="comma-separated; by default those that its agents name")
    parser.add_argument("--hostname", help="its name, for example w1@%%h")
    parser.add_argument(
        "--idle-exit",
        type=float,
        metavar="SECONDS",
        help="end with code 0 after so long without work; something else starts it again",
    )
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    parser.add_argument("--loglevel", default="WARNING", type=str.upper, choices=levels)
    return parser.parse_args()


def main() -> NoReturn:
    """Work until a signal comes; ends the process with Celery's exit code."""
    options = _options()
    os.environ.setdefault("GATEPOST_ROLE", "worker")
    settings.SECRET_KEY  # noqa: B018 - the settings are read before what they read is removed
    own_secrets.forget()  # before the agents' modules are imported
    worker = app.Worker(
        concurrency=options.concurrency,
        pool_cls=options.pool,
        queues=options.queues,
        idle_exit=options.idle_exit,
        hostname=host_format(default_nodename(options.hostname)),
        loglevel=options.loglevel,
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    gc.freeze()  # its slots share these pages of memory, as no collection writes to them
    gc.enable()
    worker.start()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    main()
