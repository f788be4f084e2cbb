"""A worker that a supervisor starts: it waits for the tables, and says when it is ready."""

import importlib
import os
from typing import Any

from celery.signals import celeryd_after_setup, worker_ready


@celeryd_after_setup.connect
def wait_for_tables(**_kwargs: Any) -> None:
    """With a supervisor: import the agents while it still makes the tables, then wait for those.

    Connected first, so that the agents are announced afterwards. The gate is a pipe whose other
    end closes: when the tables are there, or when the supervisor dies.
    """
    handle = os.environ.pop("GATEPOST_GATE_FD", "")
    if not handle:
        return
    from ..code.registry import agent_modules
    from ..step import guard
    from .loop import guarding

    if guarding():
        guard.install()
    for name in agent_modules():
        try:
            importlib.import_module(name)
        except Exception:  # noqa: S112 - the registry imports it again and says what is wrong
            continue
    os.read(int(handle), 1)
    os.close(int(handle))


@worker_ready.connect
def report_ready(**_kwargs: Any) -> None:
    """Write one byte to the pipe that the supervisor waits on; an earlier ping would be lost."""
    handle = os.environ.pop("GATEPOST_READY_FD", "")
    if handle:
        os.write(int(handle), b"1")
        os.close(int(handle))
