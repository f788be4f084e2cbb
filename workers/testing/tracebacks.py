"""Errors in an author's terminal: short, without the values of local variables."""

from __future__ import annotations

import os
import traceback
from typing import Any, TextIO

import structlog

_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def use_short_tracebacks() -> None:
    """Let logs of a process that has not configured structlog show errors in a few lines."""
    if structlog.is_configured():
        return
    processors = structlog.get_config()["processors"]
    console = structlog.dev.ConsoleRenderer(exception_formatter=write_short)
    structlog.configure(processors=[*processors[:-1], console])


def write_short(out: TextIO, error: Any) -> None:
    """Write an error (as of sys.exc_info) with the author's lines and those that they called."""
    kind, value, trace = error
    frames = traceback.extract_tb(trace)
    own = [n for n, frame in enumerate(frames) if not frame.filename.startswith(_HERE)]
    shown = frames[own[0] :] if own else frames[-1:]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(shown)]
    out.write("\n" + "".join(lines + traceback.format_exception_only(kind, value)).rstrip("\n"))
