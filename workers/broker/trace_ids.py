"""The id of the request behind a piece of work, from the web's log lines to the worker's.

It travels as a header of the doorbell. It only names: nothing is decided by it, and a doorbell that
was lost and rung again by the sweep has none.
"""

from __future__ import annotations

import re
from typing import Any

from structlog.contextvars import get_contextvars

# In log lines, and beside the ids in a message.
NAME = "request"
HEADER = "gatepost_request"
_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,99}")


def sane(value: Any) -> bool:
    """Answer True for a plain word of up to 100 characters."""
    return isinstance(value, str) and _SANE.fullmatch(value) is not None


def headers() -> dict[str, str]:
    """The headers that name the current request in a message; {} outside of a request."""
    name = get_contextvars().get(NAME)
    return {HEADER: str(name)} if sane(name) else {}


def bound(value: Any) -> dict[str, str]:
    """The fields to bind to log lines for the header of a message."""
    return {NAME: value} if sane(value) else {}
