"""Whose votes count towards a request, who is still missing and whose turn it is; pure.

The one home of this rule. The gate writes its answer into the request with each verdict; inbox,
pages, notifications, API and dispatch read that.

A person is what stands before the slash in a reviewer's id: a token or a hook is no second person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from ..states import ALLOWING
from .terms import Seat, Terms


@dataclass(frozen=True, slots=True)
class Vote:
    """One verdict on a request as it was recorded; `counts` says whether it does so now.

    `proposal_hash` is what the person agreed to: of an edit the hash of the new arguments. Of a
    deputy's, `reviewer_name` has both names: "grace for ada".
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
    for_person: str = ""  # whose turn the reviewer took as their deputy

    @property
    def person(self) -> str:
        """The person who voted, whatever they acted through."""
        return person(self.reviewer)


class Part(StrEnum):
    """The part of a person in an open request."""

    BARRED = "barred"  # four eyes keep them out
    VOTED = "voted"  # their approval counts already
    REPRESENTED = "represented"  # a deputy's approval counts in this stage in their place
    DUE = "due"
    LATER = "later"  # others have to approve before them
    EARLIER = "earlier"  # their stage is filled
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Counted:
    """A vote that counts: its decision, the person, their name, and whose deputy they were."""

    decision: UUID
    person: str
    name: str
    for_person: str = ""

    @classmethod
    def of(cls, vote: Vote) -> Counted:
        return cls(vote.decision, vote.person, vote.reviewer_name, vote.for_person)

    @classmethod
    def from_json(cls, payload: Mapping[str, str]) -> Counted:
        decision = UUID(payload["decision"])
        return cls(decision, payload["person"], payload["name"], payload.get("for", ""))

    def to_json(self) -> dict[str, str]:
        """As the column `tally` holds it."""
        payload = {"decision": str(self.decision), "person": self.person, "name": self.name}
        return payload | ({"for": self.for_person} if self.for_person else {})


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a request and whose turn it is: the answer that every reader reads.

    `got` of `needed` people in `stage` of `stages` (from 1); `missing` are needed in all. `seats`
    are those of the terms, `counted` the votes that count, one tuple per stage. It is the turn of
    everybody who is meant by a name in `due_seats` and is not among the people in `due_except`.
    """

    stage: int
    stages: int
    got: int
    needed: int
    missing: int
    seats: tuple[Seat, ...]
    counted: tuple[tuple[Counted, ...], ...]
    barred: tuple[str, ...]
    due_seats: tuple[str, ...]
    due_except: tuple[str, ...]
    called_in: tuple[str, ...] = ()  # who may take any turn since nobody decided in time

    @classmethod
    def read(
        cls, payload: Any, terms: Terms, *, due_seats: Sequence[str], due_except: Sequence[str]
    ) -> Progress:
        """The answer as its columns hold it; without any: nobody has voted, nobody is due."""
        payload = payload or progress(terms, ()).to_json()
        counted = tuple(
            tuple(map(Counted.from_json, stage["given"])) for stage in payload["stages"]
        )
        at = payload["stage"] - 1
        return cls(
            stage=payload["stage"],
            stages=len(counted),
            got=len(counted[at]),
            needed=payload["stages"][at]["count"],
            missing=payload["missing"],
            seats=terms.stages or (Seat(),),
            counted=counted,
            barred=terms.barred,
            due_seats=tuple(due_seats),
            due_except=tuple(due_except),
            called_in=tuple(payload["called_in"]),
        )

    def to_json(self) -> dict[str, Any]:
        """As the request's column `tally` holds it; `seats` name who may vote in a stage."""
        return {
            "stage": self.stage,
            "missing": self.missing,
            "called_in": list(self.called_in),
            "stages": [
                {
                    "seats": list(dict.fromkeys((*seat.names, *self.called_in))),
                    "count": _needed(seat),
                    "given": [vote.to_json() for vote in value],
                }
                for seat, value in zip(self.seats, self.counted, strict=True)
            ],
        }

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a request that hold this answer."""
        return {
            "tally": self.to_json(),
            "due_seats": list(self.due_seats),
            "due_except": list(self.due_except),
        }

    def closed(self) -> Progress:
        """The same of a request that is no longer decided: it is nobody's turn."""
        return replace(self, due_seats=(), due_except=())

    @property
    def complete(self) -> bool:
        """Answer True if nobody is missing."""
        return not self.missing

    @property
    def seat(self) -> Seat:
        """The seat whose turn it is, by the terms."""
        return self.seats[self.stage - 1]

    @property
    def done_by(self) -> tuple[tuple[str, ...], ...]:
        """The people who were counted, one tuple per stage."""
        return tuple(tuple(vote.person for vote in value) for value in self.counted)

    @property
    def represented(self) -> tuple[str, ...]:
        """The people whose deputies have approved in the stage whose turn it is."""
        return tuple(vote.for_person for vote in self.counted[self.stage - 1] if vote.for_person)

    def acted_for(self, who: str) -> str:
        """The person in whose place `who` has approved; empty where they did so for themselves."""
        votes = (vote for some in self.counted for vote in some)
        return next((vote.for_person for vote in votes if vote.person == who), "")

    @property
    def decisions(self) -> frozenset[UUID]:
        """The decisions that count."""
        return frozenset(vote.decision for value in self.counted for vote in value)

    @property
    def approvals(self) -> int:
        """The number of people who have approved, over all stages."""
        return sum(map(len, self.counted))

    def part(self, who: str, names: Sequence[str]) -> Part:
        """The part of a person (`user:7`) whom seats mean by these names."""
        if who in self.barred:
            return Part.BARRED
        if any(who in value for value in self.done_by):
            return Part.VOTED
        if who in self.represented:
            return Part.REPRESENTED
        if not set(self.due_seats).isdisjoint(names):
            return Part.DUE
        if any(seat.admits(names) for seat in self.seats[self.stage :]):
            return Part.LATER
        return Part.EARLIER if any(seat.admits(names) for seat in self.seats) else Part.NONE


def person(reviewer: str) -> str:
    """The person behind a reviewer's id: `user:7` of `user:7/token:k3x9mq2p`."""
    return reviewer.partition("/")[0]


def progress(terms: Terms, votes: Iterable[Vote], *, escalated: bool = False) -> Progress:
    """Count votes, oldest first, over the stages in order, and say whose turn it is.

    `escalated`: nobody decided in time, so those whom the terms call in may take any turn, too.
    """
    seats = terms.stages or (Seat(),)
    counted = _counted(seats, votes)
    at = _stage(seats, counted)
    missing = sum(_needed(seat) - len(some) for seat, some in zip(seats, counted, strict=True))
    called_in = terms.escalate_to.names if escalated and terms.escalate_to else ()
    voters = [vote.person for some in counted for vote in some]
    # One right gives one approval in a stage: its owner's, or that of their deputy.
    voters += [vote.for_person for vote in counted[at] if vote.for_person]
    progress = Progress(
        stage=at + 1,
        stages=len(seats),
        got=len(counted[at]),
        needed=_needed(seats[at]),
        missing=missing,
        seats=seats,
        counted=tuple(tuple(map(Counted.of, some)) for some in counted),
        barred=terms.barred,
        due_seats=tuple(dict.fromkeys((*seats[at].names, *called_in))),
        due_except=tuple(dict.fromkeys((*terms.barred, *voters))),
        called_in=called_in,
    )
    return progress if missing else progress.closed()


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


def voided(votes: Iterable[Vote]) -> dict[UUID, Vote]:
    """{approval or edit that no longer counts: the edit or take-back that made it void}."""
    live: list[Vote] = []
    void: dict[UUID, Vote] = {}
    for vote in votes:
        if vote.verdict in ("edit", "take_back"):
            edits = vote.verdict == "edit"
            gone = [v for v in live if edits or v.person == vote.person]
            void |= {v.decision: vote for v in gone}
            live = [v for v in live if v not in gone]
        if vote.verdict in ALLOWING:
            live.append(vote)
    return void


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
        at = _stage_of(seats, counted, vote.person)
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


def _stage_of(seats: Sequence[Seat], counted: Sequence[Sequence[Vote]], who: str) -> int:
    """The stage in which a person has voted, else the one whose turn it is."""
    for at, some in enumerate(counted):
        if any(vote.person == who for vote in some):
            return at
    return _stage(seats, counted)


def _has_voted(counted: Sequence[Sequence[Vote]], who: str) -> bool:
    return any(vote.person == who for some in counted for vote in some)
