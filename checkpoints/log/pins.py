"""A thread's code by its log: whether it is pinned, whose decisions hold; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..state import deltas
from ..states import EventKind

# Who says that the code may change, in `code.changed`: a person; or nobody, since it is the same.
CHOSEN: Final = "choice"
SAME_CODE: Final = "same"


def pinned_after(before: bool, kind: str, data: str) -> bool:
    """Answer True if a thread is pinned after an event of this kind and stored JSON."""
    if kind == EventKind.CODE_PINNED:
        return True
    if kind == EventKind.CODE_UNPINNED:
        return False
    if kind == EventKind.CODE_CHANGED:
        # Who accepts other code takes the pin off; a rule never meets a pinned thread.
        return before and deltas.decode(data).get("by") != CHOSEN
    return before


def accepted_after(
    accepted: set[str], data: Mapping[str, Any], upgraded: Collection[str] = ()
) -> set[str]:
    """The versions whose decisions still hold after a change of code.

    They do where a person accepted it, it is the same code under another fingerprint, or it led
    the state to a newer schema. Where only the agent's rule let the thread continue, none does.
    """
    if data.get("by") in (CHOSEN, SAME_CODE) or data["from"] in upgraded:
        return accepted | {data["from"]}
    return set()
