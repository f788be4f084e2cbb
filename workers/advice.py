"""What an author reads when a node does what it cannot: what, where, and what to do instead."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from checkpoints import deltas
from checkpoints.errors import InvalidValue

from .errors import StepFailed
from .graph import Tool

ENGINE = Path(__file__).parent
# What is recorded beside the state, as large as a state may be; what an event tells, less.
RECORD_BYTES = deltas.LIMITS.state_bytes
TOLD_BYTES = deltas.LIMITS.event_bytes - 4_096
SECONDS_MAX = 100 * 366 * 86_400
KEY_MAX = 190  # with its ordinal it has to fit the column of positions


def storable(value: Any, what: str, *, at_most: int = RECORD_BYTES) -> None:
    """Refuse what is not JSON, and more than so many bytes of it; `what` begins the sentence."""
    try:
        deltas.check(value)
    except InvalidValue as error:
        raise StepFailed(
            f"{what} cannot be kept: {error}. Use text, numbers, true, false, None, lists and "
            "dicts; amounts and dates as text, files by ctx.artifact."
        ) from error
    try:
        deltas.check_size(len(deltas.canonical(value)), at_most, "the whole")
    except InvalidValue as error:
        place = deltas.heaviest(value)
        raise StepFailed(
            f"{what} cannot be kept: {place}: {error.reason}. Keep what is large with ctx.artifact."
        ) from error


def check_key(key: str) -> None:
    """Refuse a name or key that does not fit a position."""
    if not 1 <= len(key) <= KEY_MAX:
        raise StepFailed(f"The key {key[:40]!r} must have 1 to {KEY_MAX} characters.")
    storable(key, "This key")


def check_file(name: str, media_type: str) -> None:
    """Refuse a file whose name or media type does not fit."""
    for what, text, longest in (("name", name, 255), ("media type", media_type, 100)):
        storable(text, f"A file's {what}")
        if not 1 <= len(text) <= longest:
            raise StepFailed(f"A file's {what} must have 1 to {longest} characters.")


def check_seconds(seconds: float | None, what: str) -> None:
    """Refuse a time that no calendar reaches."""
    if seconds is not None and not abs(seconds) <= SECONDS_MAX:  # NaN is not either
        raise StepFailed(f"{what} takes seconds, at most a hundred years of them, not {seconds}.")


def check_activity(call: Any) -> None:
    """Refuse a tool where a function is meant."""
    if isinstance(call, Tool):
        raise StepFailed(
            f"{call.name!r} is a tool: call it with ctx.effect(...), so that it can be gated and "
            "undone."
        )
    if not callable(call):
        raise StepFailed(
            f"ctx.activity takes a function and its arguments, not {type(call).__name__}: write "
            "ctx.activity(look_up, goal), not ctx.activity(look_up(goal))."
        )


def check_effect(tool: Any, args: Any) -> None:
    """Refuse what could not be called, before people are asked about it."""
    if not isinstance(tool, Tool):
        name = getattr(tool, "__name__", type(tool).__name__)
        raise StepFailed(
            f"ctx.effect takes a tool, and {name!r} is none: put @tool({name!r}, undo=...) over "
            "it, or call it with ctx.activity when it changes nothing outside."
        )
    if not isinstance(args, Mapping):
        raise StepFailed(
            f"ctx.effect takes the arguments of {tool.name!r} as one dict by name, not "
            f"{type(args).__name__}."
        )
    try:
        tool.signature.bind(**args, key="")
    except TypeError as error:
        takes = ", ".join(name for name in tool.signature.parameters if name != "key")
        if "'key'" in str(error):
            raise StepFailed(
                f"The tool {tool.name!r} takes no key: end its parameters with `*, key: str`. It "
                "is the idempotency key, the same after crash and retry."
            ) from error
        raise StepFailed(
            f"The tool {tool.name!r} cannot be called so: {error}. It takes {takes}."
        ) from error


def place_of(error: BaseException, call: Callable[..., Any]) -> str:
    """Where in the author's own files an error came up, such as " (expenses.py, line 31)"."""
    try:
        home = Path(inspect.getsourcefile(inspect.unwrap(call)) or "").parent
    except TypeError:  # an object that is called has no file of its own
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.parent != ENGINE and path.is_relative_to(home):
            return f" ({path.name}, line {frame.lineno})"
    return ""
