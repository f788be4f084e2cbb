"""Checks of what an author passes, and how a value of theirs is shown in a sentence."""

from __future__ import annotations

import reprlib
from typing import Any

from .errors import StepFailed

SHOWN_MAX = 200
_REPR = reprlib.Repr(maxlevel=3, maxstring=SHOWN_MAX, maxother=SHOWN_MAX)


def shown(value: Any) -> str:
    """A value of the author's in a sentence: its repr, cut off; its type where that fails."""
    try:
        text = _REPR.repr(value)
    except Exception:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def is_number(value: Any) -> bool:
    """Whether it is an int or float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_text(value: Any, what: str) -> None:
    """Refuse what is no text; `what` begins the sentence."""
    if not isinstance(value, str):
        raise StepFailed(f"{what} must be text, not {type(value).__name__}.")
