"""Which verdicts a request takes; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..states import ANSWERS, WITHOUT_EFFECT

# In the schema of a request whose agent offers fewer answers than others: their verdicts.
ALLOWED: Final = "x-verdicts"

# In the schema of a request: false where the agent has no answer to what people ask back.
REPLIES: Final = "x-replies"

# Kinds of requests before an effect; "repeat": the same effect was done before.
REPEAT: Final = "repeat"
GATES: Final = ("gate", REPEAT)


def verdicts_of(kind: str, schema: Any) -> tuple[str, ...]:
    """The verdicts that a request of this kind and schema takes, in the order of the buttons.

    A refusal is always possible: people need not say yes to anything.
    """
    result = ANSWERS if kind in GATES else WITHOUT_EFFECT
    named = schema.get(ALLOWED) if isinstance(schema, Mapping) else None
    if not isinstance(named, list):
        return result
    return tuple(verdict for verdict in result if verdict in named or verdict == "reject")


def silent(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a request whose agent answers no questions."""
    return {**schema, REPLIES: False}


def offered(kind: str, schema: Any, possible: tuple[str, ...]) -> tuple[str, ...]:
    """The verdicts that a page offers: no question to an agent that has no answer."""
    is_silent = kind in GATES and isinstance(schema, Mapping) and schema.get(REPLIES) is False
    return tuple(one for one in possible if not (is_silent and one == "respond"))
