"""Outcomes of a request in words: each effect, how it belongs to the request, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from approvals.records import Outcome

_RELATIONS: Final = {
    "request": "",
    "node": "by the same node: ",
    "later": "later, without a request of its own: ",
    "undo": "rolled back: ",
}
_STATES: Final = {
    "done": "done",
    "started": "started, not finished",
    "failed": "failed",
    "unknown": "outcome unknown",
    "compensated": "done, then undone",
}


def outcome_in_words(row: Outcome) -> str:
    """`bank.reserve done`, `later, without a request of its own: bank.pay done`."""
    ended = _STATES.get(row.state, row.state)
    attempts = f" in {row.attempts} attempts" if row.attempts > 1 else ""
    return f"{_RELATIONS[row.relation]}{row.tool} {ended}{attempts}"


def outcomes_in_words(rows: Sequence[Outcome]) -> str:
    """All of them in one line; empty where nothing came of it."""
    return "; ".join(map(outcome_in_words, rows))
