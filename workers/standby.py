"""`python -m workers.standby`: sweep and send news while no worker lives, until a signal comes."""

import os
import signal
import sys
import threading

import django
from django.conf import settings

from checkpoints.outbound import own_secrets

from . import celery  # noqa: F401  (the application that doorbells go out by)


def main() -> int:
    """Turn until SIGTERM or SIGINT; the exit code."""
    os.environ.setdefault("GATEPOST_ROLE", "worker")
    django.setup(set_prefix=False)
    settings.SECRET_KEY  # noqa: B018 - the settings are read before what they read is removed
    own_secrets.forget()
    from .slot.standby import Standby  # needs the models

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Standby().run(stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
