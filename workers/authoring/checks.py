"""Checks of what an author passes, and how a value of theirs is shown in a sentence."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Any

from .errors import GraphError, StepFailed

SHOWN_MAX = 200
_PATH = re.compile(r"(?:[^:]+:)?\$(?:[.\[].+)?")
_REPR = reprlib.Repr(maxlevel=3, maxstring=SHOWN_MAX, maxother=SHOWN_MAX)


def shown(value: Any) -> str:
    """A value of the author's in a sentence: its repr, cut off; its type where that fails."""
    try:
        text = _REPR.repr(value)
    except Exception:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def is_number(value: Any) -> bool:
    """Answer True for an int or float, not for a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_text(value: Any, what: str) -> None:
    """Refuse what is no text; `what` begins the sentence."""
    if not isinstance(value, str):
        raise StepFailed(f"{what} must be text, not {type(value).__name__}.")


def check_exempt(paths: Any) -> None:
    """Refuse exceptions for secrets that name no path, or give no reason."""
    if not isinstance(paths, Mapping):
        raise GraphError("secrets_allowed takes a dict of paths and reasons.")
    for path, reason in paths.items():
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise GraphError(
                f'secrets_allowed: {shown(path)} is no path; write "$.channel" or "tool:$.key".'
            )
        if not isinstance(reason, str) or not reason.strip():
            raise GraphError(f"secrets_allowed: {path!r} needs a reason as text.")
