"""Outcomes of a request in words: each effect, how it belongs to the request, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

from approvals.records import CALLS_AFTER, PER_REQUEST

_RELATIONS: Final = {
    "request": "",
    "node": "by the same node: ",
    "later": "later, without a request of its own: ",
    "undo": "rolled back: ",
    "fork": "in the fork: ",
}
_STATES: Final = {
    "done": "done",
    "started": "started, not finished",
    "failed": "failed",
    "unknown": "outcome unknown",
    "compensated": "done, then undone",
}


CUT: Final = (
    f"There may be more: listed are the first {PER_REQUEST} that name no request, "
    f"among the {CALLS_AFTER:,} calls that followed."
)


class Described(Protocol):
    """An outcome with what its words need, of the record or as the API answers it."""

    @property
    def relation(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def undo_failed(self) -> bool: ...


def outcome_in_words(row: Described) -> str:
    """`later, without a request of its own: bank.pay done`; with one it has no beginning."""
    return f"{_RELATIONS[row.relation]}{_ended(row)}"


def outcomes_in_words(rows: Sequence[Described], *, complete: bool) -> str:
    """All of them in one line; empty where nothing came of it."""
    result = "; ".join(
        _RELATIONS[relation] + ", ".join(map(_ended, some))
        for relation, some in groupby(rows, key=attrgetter("relation"))
    )
    return result if complete else f"{result}. {CUT}".removeprefix(". ")


def _ended(row: Described) -> str:
    attempts = f" in {row.attempts} attempts" if row.attempts > 1 else ""
    undo = ", undo failed" if row.undo_failed else ""
    return f"{row.tool} {_STATES.get(row.state, row.state)}{attempts}{undo}"
