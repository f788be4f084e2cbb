"""Whether a thread is pinned to its code, as its log tells; pure."""

from __future__ import annotations

from . import deltas
from .states import EventKind


def pinned_after(before: bool, kind: str, data: str) -> bool:
    """Whether it is pinned after an event of this kind and stored JSON, given whether it was."""
    if kind == EventKind.CODE_PINNED:
        return True
    if kind == EventKind.CODE_UNPINNED:
        return False
    if kind == EventKind.CODE_CHANGED:
        # Who accepts other code takes the pin off; a rule never meets a pinned thread.
        return before and deltas.decode(data).get("by") != "choice"
    return before
