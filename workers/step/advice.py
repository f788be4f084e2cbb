"""What an author reads when a node does what it cannot: what, where, and what to do instead."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.db import DatabaseError

from approvals.states import RISKS
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas, marked

from ..authoring.checks import check_text, is_number, shown
from ..authoring.errors import StepFailed
from ..authoring.tools import Gate, Tool
from .answers import describe, is_sentence
from .results import RECORD_BYTES
from .retries import gave_up

ENGINE = Path(__file__).parents[1]
FLOORS = [ENGINE.parent / n for n in ("checkpoints", "approvals", "workers", "gatepost")]
# An event holds less than a record may.
EVENT_BYTES = deltas.LIMITS.event_bytes - 4_096
SECONDS_MAX = 100 * 366 * 86_400
# What a status reason has room for beside a node's name and a place.
REASON_MAX = 1_500
# What Python says of them is about lines of code, and helps nobody but who can change them.
BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
)
KEY_MAX = 190  # with its ordinal it has to fit the column of positions


def storable(value: Any, what: str, *, at_most: int = RECORD_BYTES) -> None:
    """Refuse what is not JSON, and more than this number of bytes; `what` begins the sentence."""
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
        path = deltas.heaviest(value)
        raise StepFailed(
            f"{what} cannot be kept: {path}: {error.reason}. Keep what is large with ctx.artifact."
        ) from error


def exact_form(value: Any, what: str) -> Any:
    """The form in which what a call returned is recorded, exactly as it was; `what` begins the
    sentence of a refusal.

    It has happened, so nothing is refused for its type: see `checkpoints.state.marked`. One that is
    too large for a record goes into a file: see `results`.
    """
    try:
        return marked.mark(value)
    except InvalidValue as error:
        raise StepFailed(
            f"{what} cannot be kept: {error}. Keep a file with ctx.artifact, or below ctx.scratch."
        ) from error


def check_gate(gate: Any) -> None:
    """Refuse a gate that cannot be shown to people."""
    if not isinstance(gate, Gate):
        raise StepFailed(f"gate= takes a Gate(...), not {type(gate).__name__}.")
    check_request(gate.title, gate.description, gate.risk, gate.expires_in, "A gate's")
    if not isinstance(gate.reasons, list | tuple):
        raise StepFailed(
            f"A gate's reasons must be a list of texts, not {type(gate.reasons).__name__}."
        )
    for reason in gate.reasons:
        check_text(reason, "A gate's reason")
    if gate.answer is not None and not callable(gate.answer):
        raise StepFailed(
            f"A gate's answer must be a function(question, args), not {shown(gate.answer)}."
        )


def check_request(title: Any, description: Any, risk: Any, expires_in: Any, whose: str) -> None:
    """Refuse words and terms that no request to people can have; `whose` begins the sentence."""
    check_text(title, f"{whose} title")
    if not title.strip():
        raise StepFailed(f"{whose} title is empty: say what people decide.")
    check_text(description, f"{whose} description")
    if not isinstance(risk, str) or risk not in RISKS:
        raise StepFailed(f"{whose} risk must be one of {', '.join(RISKS)}, not {shown(risk)}.")
    check_seconds(expires_in, f"{whose} expires_in")


def check_key(key: str) -> None:
    """Refuse a name or key that does not fit a position."""
    check_text(key, "A key")
    if not 1 <= len(key) <= KEY_MAX:
        raise StepFailed(f"The key {key[:40]!r} must have 1 to {KEY_MAX} characters.")
    storable(key, "This key")


def check_file(name: str, media_type: str) -> None:
    """Refuse a file whose name or media type does not fit."""
    for what, text, longest in (("name", name, 255), ("media type", media_type, 100)):
        check_text(text, f"A file's {what}")
        storable(text, f"A file's {what}")
        if not 1 <= len(text) <= longest:
            raise StepFailed(f"A file's {what} must have 1 to {longest} characters.")


def check_seconds(seconds: float | None, what: str, *, needed: bool = False) -> None:
    """Refuse a time that no calendar reaches; None stands for no time at all."""
    if seconds is None and not needed:
        return
    # NaN is in no range.
    if seconds is None or not is_number(seconds) or not -SECONDS_MAX <= seconds <= SECONDS_MAX:
        raise StepFailed(
            f"{what} takes seconds, at most a hundred years of them, not {shown(seconds)}."
        )


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
    if tool.elsewhere:
        return
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


def reason_of(error: Exception, call: Callable[..., Any]) -> str:
    """Explain why a node failed, in a sentence with the line in the author's files."""
    location = gave_up(error) + place_of(error, call)
    text = describe(error)
    if len(text) > REASON_MAX:
        text = f"{text[:REASON_MAX]}…"
    if is_sentence(error):
        return text + location
    if isinstance(error, DatabaseError):
        return f"The database refuses what is passed to it here: {text}{location}"
    if _is_of_engine(error):
        return f"Gatepost cannot use what is passed to it here: {text}{location}"
    return f"raised {text}{location}"


def engine_failure(error: Exception) -> str:
    """Explain why the engine itself failed at a step, in a sentence."""
    if isinstance(error, DatabaseError):
        return f"The database refuses what this step writes: {describe(error)}"
    if is_sentence(error):
        return describe(error)
    text = "Gatepost itself failed at this step, not the agent"
    if isinstance(error, BUGS):
        return f"{text}. The worker's log says where; retry once it is fixed."
    return f"{text}: {describe(error)}"


def _is_of_engine(error: BaseException) -> bool:
    """Answer True if an error was raised in Gatepost's code, not the author's or a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    last = Path(frames[-1].filename) if frames else Path()
    return any(last.is_relative_to(floor) for floor in FLOORS)


def place_of(error: BaseException, call: Callable[..., Any]) -> str:
    """The line of the author's own files where an error was raised: " (expenses.py, line 31)"."""
    try:
        home = Path(inspect.getsourcefile(inspect.unwrap(call)) or "").parent
    except TypeError:  # an object that is called has no file of its own
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not path.is_relative_to(ENGINE) and path.is_relative_to(home):
            return f" ({path.name}, line {frame.lineno})"
    return ""
