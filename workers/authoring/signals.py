"""News from outside, as a node gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that a wait took; `by` is the actor who sent it, as in the log."""

    name: str
    value: Any
    by: str
