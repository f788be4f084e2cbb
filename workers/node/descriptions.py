"""The sentence in which a tool describes one call of itself, as people read it."""

from __future__ import annotations

from typing import Any, Final

import structlog

from checkpoints.state import deltas
from checkpoints.unseen import has_hidden

from ..authoring.checks import check_text
from ..authoring.errors import StepFailed
from ..authoring.tools import Tool
from ..step.advice import storable
from ..step.answers import describe, result_of
from ..step.guard import guarded
from ..step.secret_values import refuse_secrets

SENTENCE_MAX: Final = 300
log = structlog.get_logger("gatepost.worker")
_logged: set[str] = set()  # tools whose fault this process has logged


def described(tool: Tool, args: Any, result: Any = None) -> str:
    """The tool's own sentence about a call, on one line; empty where it has none."""
    return describe_call(tool, args, result)[0]


def describe_call(tool: Tool, args: Any, result: Any = None) -> tuple[str, str]:
    """(the tool's own sentence about a call, why there is none); both empty without `describe=`.

    `result` is None before the call. A `describe=` that fails is logged once per tool and stops
    nothing: people then read the tool's name, and why.
    """
    if tool.describe is None:
        return "", ""
    call, value, came = tool.describe, deltas.copied(args), deltas.copied(result)
    try:
        # Under a guard of its own: what it refuses is a fault of this function, not of the node.
        with guarded(call):
            text = result_of(lambda: call(value, came))
        check_text(text, "The sentence")
        storable(text, "The sentence")
        refuse_secrets(text, "The sentence", ())
        if not text.strip():
            raise StepFailed("The sentence is empty.")
        line = " ".join(text.split())
        if len(line) > SENTENCE_MAX:
            raise StepFailed(f"The sentence has {len(line):,} characters; {SENTENCE_MAX} may be.")
        if has_hidden(line):
            raise StepFailed("The sentence has characters that cannot be seen or look like others.")
    except Exception as error:
        why = describe(error)
        if tool.name not in _logged:
            _logged.add(tool.name)
            log.warning("tool.not_described", tool=tool.name, error=why)
        return "", why
    return line, ""


def recorded(sentence: str) -> dict[str, Any] | None:
    """A sentence as it stands in an effect's record; None for none."""
    return {"sentence": sentence} if sentence else None
