"""The savings of resuming, in words."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.views import SavedRow

from .text import number, span


def counted(n: int, noun: str) -> str:
    """1 call, 1,240 tokens."""
    return f"{number(n)} {noun}{'' if n == 1 else 's'}"


def dollars(cost: str, unpriced_calls: int) -> str:
    """$0.02 and 1 unpriced call; what is nothing is left out."""
    unpriced = counted(unpriced_calls, "unpriced call") if unpriced_calls else ""
    return " and ".join(part for part in (f"${cost}" if cost != "0" else "", unpriced) if part)


def words(saved: SavedRow) -> str:
    """3 model calls, 2 other calls, 1,240 tokens, $0.02, 12 s; what is nothing is left out.

    A cost that leaves something out says so: “$0.02 and 1 unpriced call”.
    """
    others = saved.calls - saved.model_calls
    parts = [
        counted(saved.model_calls, "model call") if saved.model_calls else "",
        counted(others, "other call" if saved.model_calls else "call") if others else "",
        counted(saved.tokens, "token") if saved.tokens else "",
        dollars(saved.cost, saved.unpriced_calls),
        span(saved.milliseconds / 1000) if saved.milliseconds else "",
    ]
    return ", ".join(part for part in parts if part) or "nothing"


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a page about savings: the words, and after how many faults."""

    words: str
    resumes: int


def shown(saved: SavedRow) -> Shown | None:
    """None where there is nothing to say."""
    return Shown(words(saved), saved.resumes) if saved.calls else None
