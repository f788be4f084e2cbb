"""Whose votes count towards a request, and who is still missing; pure.

A person is what stands before the slash in a reviewer's id: a token or a hook is no second person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from .terms import Seat, Terms


@dataclass(frozen=True, slots=True)
class Vote:
    """One verdict on a request as it was recorded; `counts` says whether it does so now.

    `proposal_hash` is what the person agreed to: of an edit the hash of the new arguments.
    """

    decision: UUID
    reviewer: str
    reviewer_name: str
    verdict: str
    proposal_hash: str
    comment: str = ""
    what_next: str = ""
    at: datetime | None = None
    counts: bool = False
    args: Any = None

    @property
    def person(self) -> str:
        """Who it was, whatever they acted through."""
        return person(self.reviewer)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a request is: `got` of `needed` people in `stage` of `stages` (from 1).

    `missing` people are needed in all. `seats` are those of the terms, `done_by` the people who
    were counted, one tuple per stage.
    """

    stage: int
    stages: int
    got: int
    needed: int
    missing: int
    seats: tuple[Seat, ...]
    done_by: tuple[tuple[str, ...], ...]

    @property
    def complete(self) -> bool:
        """Whether nobody is missing."""
        return not self.missing

    @property
    def seat(self) -> Seat:
        """Whose turn it is."""
        return self.seats[self.stage - 1]


def person(reviewer: str) -> str:
    """The person behind a reviewer's id: `user:7` of `user:7/token:k3x9mq2p`."""
    return reviewer.partition("/")[0]


def progress(terms: Terms, votes: Iterable[Vote]) -> Progress:
    """Count votes, oldest first, over the stages in order."""
    seats = terms.stages or (Seat(),)
    counted = _counted(seats, votes)
    at = _stage(seats, counted)
    return Progress(
        stage=at + 1,
        stages=len(seats),
        got=len(counted[at]),
        needed=_needed(seats[at]),
        missing=sum(_needed(seat) - len(some) for seat, some in zip(seats, counted, strict=True)),
        seats=seats,
        done_by=tuple(tuple(vote.person for vote in some) for some in counted),
    )


def marked(terms: Terms, votes: Sequence[Vote]) -> list[Vote]:
    """The same votes, each saying whether it counts."""
    counted = {v.decision for some in _counted(terms.stages or (Seat(),), votes) for v in some}
    return [replace(vote, counts=vote.decision in counted) for vote in votes]


def standing_edit(votes: Iterable[Vote]) -> Vote | None:
    """The edit whose arguments stand; None: those that were asked for."""
    edits: list[Vote] = []
    last: Vote | None = None
    for vote in votes:
        if vote.verdict == "edit":
            edits.append(vote)
        elif vote.verdict == "take_back" and last is not None and last.verdict == "edit":
            edits.pop()
        last = vote
    return edits[-1] if edits else None


def _needed(seat: Seat) -> int:
    return max(1, seat.count)


def _stage(seats: Sequence[Seat], counted: Sequence[Sequence[Vote]]) -> int:
    """The first stage that somebody is missing in, else the last."""
    for at, seat in enumerate(seats):
        if len(counted[at]) < _needed(seat):
            return at
    return len(seats) - 1


def _counted(seats: Sequence[Seat], votes: Iterable[Vote]) -> list[list[Vote]]:
    """Votes that count, by stage. Who may vote in a stage was judged when they did.

    An edit makes all votes so far void for good, also if it is taken back or the old arguments
    come again; it counts itself in the stage that its maker sat in.
    """
    counted: list[list[Vote]] = [[] for _ in seats]
    for vote in votes:
        full = all(len(some) >= _needed(seat) for some, seat in zip(counted, seats, strict=True))
        if full and vote.verdict == "approve":
            continue  # nobody could be asked for it
        at = _place(seats, counted, vote.person)
        if vote.verdict == "take_back":
            for some in counted:
                some[:] = [v for v in some if v.person != vote.person]
        elif vote.verdict == "edit":
            for some in counted:
                some.clear()
            counted[at].append(vote)
        elif vote.verdict == "approve" and not _has_voted(counted, vote.person):
            counted[at].append(vote)
    return counted


def _place(seats: Sequence[Seat], counted: Sequence[Sequence[Vote]], who: str) -> int:
    """The stage in which a person has voted, else the one whose turn it is."""
    for at, some in enumerate(counted):
        if any(vote.person == who for vote in some):
            return at
    return _stage(seats, counted)


def _has_voted(counted: Sequence[Sequence[Vote]], who: str) -> bool:
    return any(vote.person == who for some in counted for vote in some)
