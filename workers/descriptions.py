"""The sentence in which a tool describes one call of itself, as people read it."""

from __future__ import annotations

from typing import Any, Final

import structlog

from checkpoints import deltas

from .advice import storable
from .answers import describe, result_of
from .checks import check_text
from .errors import StepFailed
from .guard import guarded
from .tools import Tool

SENTENCE_MAX: Final = 300
log = structlog.get_logger("gatepost.worker")
_logged: set[str] = set()  # tools whose fault this process has logged


def described(tool: Tool, args: Any, result: Any = None) -> str:
    """The tool's own sentence about a call, on one line; empty where it has none.

    `result` is None before the call. A `describe=` that fails is logged once per tool and stops
    nothing: people then read the tool's name.
    """
    if tool.describe is None:
        return ""
    call, given, came = tool.describe, deltas.copied(args), deltas.copied(result)
    try:
        # Under a guard of its own: what it refuses is a fault of this function, not of the node.
        with guarded(call):
            text = result_of(lambda: call(given, came))
        check_text(text, "The sentence")
        storable(text, "The sentence")
        if not text.strip():
            raise StepFailed("The sentence is empty.")
    except Exception as error:
        if tool.name not in _logged:
            _logged.add(tool.name)
            log.warning("tool.not_described", tool=tool.name, error=describe(error))
        return ""
    line = " ".join(text.split())
    return line if len(line) <= SENTENCE_MAX else f"{line[: SENTENCE_MAX - 1]}…"


def recorded(sentence: str) -> dict[str, Any] | None:
    """A sentence as it stands in an effect's record; None for none."""
    return {"sentence": sentence} if sentence else None
