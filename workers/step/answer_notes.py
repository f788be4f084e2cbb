"""Events beside the record of a model's call: unusable answers, changed requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from checkpoints.states import EventKind

type Note = Callable[[EventKind, dict[str, Any]], None]
# Takes what is to be recorded; the working call's own.
listener: ContextVar[Note | None] = ContextVar("gatepost_answer_notes", default=None)
TEXT_MAX = 20_000
_USAGE = "gatepost_usage"


@contextmanager
def recorded(note: Note) -> Iterator[None]:
    """Let what is noted in here be recorded."""
    token = listener.set(note)
    try:
        yield
    finally:
        listener.reset(token)


def keep_answer(reason: str, *, raw: str, size: int, text: str = "") -> None:
    """Record an answer that could not be used as it came.

    `raw` is the beginning and the end of its `size` bytes, `text` what could be read of it.
    """
    data = {"reason": reason, "raw": _stored(raw), "size": size, "text": _stored(text)}
    _note(EventKind.ANSWER_KEPT, {name: value for name, value in data.items() if value})


def report_change(parameter: str, value: Any, reason: str, *, sent_as: str = "") -> None:
    """Record that a parameter of the request was left out or sent by another name."""
    data = {"parameter": parameter, "value": value, "reason": reason, "sent_as": sent_as}
    _note(EventKind.PARAMETER_REFUSED, {n: v for n, v in data.items() if v != ""})


def _note(kind: EventKind, data: dict[str, Any]) -> None:
    if (note := listener.get()) is not None:
        note(kind, data)


def _stored(text: str) -> str:
    cut = text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    return cut.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def attach_usage(error: Exception, usage: Mapping[str, Any]) -> None:
    """Let an error carry what the failed call took."""
    vars(error)[_USAGE] = dict(usage)


def usage_of(error: Exception) -> dict[str, Any]:
    """The usage of the failed call, {} where that is not known."""
    return dict(vars(error).get(_USAGE, {}))
