"""Logging that a test sets up anew, and as it was before afterwards."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import structlog
import structlog.testing

from dashboard.configuration.logs import configure


@contextmanager
def logged_by(config: dict[str, Any]) -> Iterator[None]:
    """Log by this configuration meanwhile.

    Not by structlog's defaults afterwards: those draw each traceback with its source, which takes
    minutes for an error of a megabyte.
    """
    root = logging.getLogger()
    former = root.handlers[:], root.level, structlog.get_config()
    configure(config)
    # A logger that is first used now would keep this configuration for good.
    structlog.configure(cache_logger_on_first_use=False)
    try:
        yield
    finally:
        root.handlers[:], root.level = former[:2]
        structlog.configure(**former[2])


@contextmanager
def logs_of(module: ModuleType) -> Iterator[list[Any]]:
    """The entries that a module logs meanwhile, whatever its logger was first used under."""
    former = module.log
    with structlog.testing.capture_logs() as entries:
        module.__dict__["log"] = structlog.get_logger()
        try:
            yield entries
        finally:
            module.__dict__["log"] = former
