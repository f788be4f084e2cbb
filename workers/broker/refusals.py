"""Count and log messages in the queues of this worker that are no doorbell.

The count is of this worker's main process; its sweeper writes it to the worker's row, from where
the figure `gatepost_messages_refused_total` is read. A flood is counted whole and logged in part.
"""

from __future__ import annotations

import time

import structlog

LINES_MAX, LINES_SECONDS = 20, 10.0
SHOWN_MAX = 80  # bytes of a message in its log line

log = structlog.get_logger("gatepost.doorbell")
_count = _lines = 0
_since = float("-inf")


def count() -> int:
    """The number of messages that this process has refused."""
    return _count


def note(queue: str, text: bytes, why: str) -> None:
    """Count one refused message; log it unless many were logged just now."""
    global _count, _lines, _since
    _count += 1
    now = time.monotonic()
    if now - _since > LINES_SECONDS:
        _since, _lines = now, 0
    _lines += 1
    if _lines > LINES_MAX:
        return
    log.warning(
        "message.refused",
        queue=queue[:100],
        error=why[:200],
        bytes=len(text),
        begins=repr(text[:SHOWN_MAX]),
        refused=_count,
        **({"quiet_seconds": LINES_SECONDS} if _lines == LINES_MAX else {}),
    )
