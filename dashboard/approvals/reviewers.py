"""Reviewers of a request: who has approved, who is still needed, the viewer's rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from approvals import gates
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms, names_of, terms_of
from approvals.rules.votes import Progress, Vote, person, voided
from dashboard.identity.permissions import Actor, lacks
from dashboard.identity.seats import Represents, represents, seat_of

from .turns import Own, own_part


class Viewer:
    """The person who looks, as the terms of a request name people."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names by which seats can mean the person."""
        return names_of(*seat_of(self.actor))

    @cached_property
    def represents(self) -> Represents:
        """For whom the person may act now; read where it matters."""
        return represents(self.actor)

    @property
    def person(self) -> str:
        """`user:7`, whatever they act through."""
        return self.actor.person


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: whose approvals, how many, who gave them; `now`: it is the one waited for."""

    who: str
    count: int
    votes: tuple[Vote, ...]
    now: bool

    @property
    def label(self) -> str:
        """The same as it begins a line; names stay as they are written."""
        return gates.begin(self.who)

    @property
    def open(self) -> int:
        """The number of approvals still missing."""
        return self.count - len(self.votes)


@dataclass(frozen=True)
class RequestProgress:
    """The progress of a request: `got` of `needed` approvals.

    `window`: seconds in which a decision can be taken back.
    """

    terms: Terms
    progress: Progress
    stages: tuple[Stage, ...]
    got: int
    needed: int
    votes: tuple[Vote, ...]
    window: int

    @property
    def several(self) -> bool:
        """True if more than one person has to approve."""
        return self.needed > 1

    @property
    def last(self) -> bool:
        """True if the next approval is the last one of several."""
        return self.several and self.needed - self.got == 1

    @cached_property
    def void(self) -> Mapping[UUID, Vote]:
        """{approval that no longer counts: the edit or take-back that made it void}."""
        return voided(self.votes)

    @property
    def spoken(self) -> tuple[Vote, ...]:
        """The verdicts that are no questions: those stand apart with the agent's replies."""
        return tuple(v for v in self.votes if v.verdict != "respond")

    @property
    def escalates_to(self) -> str:
        """The people who decide when the deadline passes, in words; empty if nobody else does."""
        seat = self.terms.escalate_to
        return seat.in_words if seat else ""


def progress_of(row: ApprovalRow, votes: Sequence[Vote]) -> RequestProgress:
    """Read a request's progress as the gate wrote it; `votes` bring times and comments."""
    now, by_id = row.progress, {vote.decision: vote for vote in votes}
    stages = tuple(
        Stage(
            seated(seat),
            seat.count,
            tuple(by_id[one.decision] for one in value if one.decision in by_id),
            row.open and n == now.stage,
        )
        for n, (seat, value) in enumerate(zip(now.seats, now.counted, strict=True), start=1)
    )
    got, terms = now.approvals, terms_of(row.terms)
    window = round(gates.window_of(row))
    return RequestProgress(terms, now, stages, got, got + now.missing, tuple(votes), window)


def own(row: ApprovalRow, viewer: Viewer | None) -> Own:
    """Find what this person may do with this request now; without a viewer, by roles alone."""
    if viewer is None:
        return Own()
    if not row.open:
        mine = person(row.decided_by) == viewer.person
        return Own(take_back=mine and row.status == "held" and not row.imported)
    if message := lacks(viewer.actor, "decide"):
        return Own(message)
    return own_part(
        row.progress,
        viewer.person,
        viewer.names,
        viewer.represents,
        request=row.id,
    )


def seated(seat: Seat) -> str:
    """Describe the approvers that a seat needs: "2 of team finance", "any reviewer"."""
    if seat.count <= 1:
        return seat.in_words
    named = seat.people or seat.teams
    return f"{seat.count} of {seat.in_words}" if named else f"{seat.count} reviewers"
