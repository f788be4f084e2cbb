"""Outcomes of a request in words: each effect, how it belongs to the request, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Final, Literal, Protocol, Self
from uuid import UUID

from pydantic import Field

from approvals.records import CALLS_AFTER, PER_REQUEST, Outcome
from dashboard.documents.state_shape import Shape

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


CAME_OF_ALL = (
    f"False where there may be more: the first {PER_REQUEST} of each of `node`, `later` and `fork` "
    f"are listed, and `later` looks at the first {CALLS_AFTER:,} calls after the request."
)


# The row also says of which request and thread; this stands below both.
class CameOf(Shape):
    """An effect that came of a request; `state` is `compensated` once it was undone.

    `relation`: `request`, its record names the request; `node`, the node that waited for the answer
    made it; `later`, the thread made it afterwards and before its next request, and asked nobody;
    `undo`, the rollback that was asked for was to undo it; `fork`, the fork that was asked for made
    it and asked nobody.
    """

    relation: Literal["request", "node", "later", "undo", "fork"]
    activity: UUID
    tool: str
    state: str
    sentence: str
    error: str
    attempts: int
    started_at: datetime
    finished_at: datetime | None
    undo_failed: bool = Field(description="The last try to undo it failed: it is still in place.")
    undo_error: str

    @classmethod
    def of(cls, row: Outcome) -> Self:
        """The row for the wire."""
        return cls(
            relation=row.relation,
            activity=row.activity,
            tool=row.tool,
            state=row.state,
            sentence=row.sentence,
            error=row.error,
            attempts=row.attempts,
            started_at=row.started_at,
            finished_at=row.finished_at,
            undo_failed=row.undo_failed,
            undo_error=row.undo_error,
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
