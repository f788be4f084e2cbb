"""Which verdicts a request takes; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# In the schema of a request whose agent offers fewer answers than others: their verdicts.
ALLOWED: Final = "x-verdicts"

# Kinds of requests before an effect; "repeat": the same effect was done before.
REPEAT: Final = "repeat"
GATES: Final = ("gate", REPEAT)
GATE: Final = ("approve", "edit", "respond", "reject")
QUESTION: Final = ("respond", "reject")


def verdicts_of(kind: str, schema: Any) -> tuple[str, ...]:
    """The verdicts that a request of this kind and schema takes, in the order of the buttons.

    A refusal is always possible: people need not say yes to anything.
    """
    found = GATE if kind in GATES else QUESTION
    named = schema.get(ALLOWED) if isinstance(schema, Mapping) else None
    if not isinstance(named, list):
        return found
    return tuple(verdict for verdict in found if verdict in named or verdict == "reject")
