"""Who has approved a request, who is still needed, and what the person who looks may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings

from approvals.counting import Vote, person
from approvals.queries import ApprovalRow
from approvals.terms import UNDO_WINDOW, Seat, Terms, terms_of
from dashboard.permissions import Actor, either, lacks


class Viewer:
    """The person who looks, as the terms of a request name people; teams are read when needed."""

    def __init__(self, actor: Actor, user: str, teams: Callable[[], Sequence[str]]) -> None:
        self.actor, self.user, self._teams = actor, user, teams

    @cached_property
    def teams(self) -> frozenset[str]:
        """The groups of the person."""
        return frozenset(self._teams())

    @property
    def person(self) -> str:
        """`user:7`, whatever they act through."""
        return self.actor.person

    def sits(self, seat: Seat) -> bool:
        """Whether the seat is open to this person."""
        if not seat.people and not seat.teams:
            return True
        return self.user in seat.people or not self.teams.isdisjoint(seat.teams)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: whose approvals, how many, who gave them; `now`: it is the one waited for."""

    who: str
    count: int
    given: tuple[Vote, ...]
    now: bool

    @property
    def label(self) -> str:
        """The same as it begins a line; names stay as they are written."""
        for begin in ("any ", "team "):
            if self.who.startswith(begin):
                return self.who[:1].upper() + self.who[1:]
        return self.who

    @property
    def open(self) -> int:
        """How many are still missing."""
        return self.count - len(self.given)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a request has come: `got` of `needed` approvals.

    `window`: seconds in which a decision can be taken back.
    """

    terms: Terms
    stages: tuple[Stage, ...]
    got: int
    needed: int
    votes: tuple[Vote, ...]
    window: int

    @property
    def several(self) -> bool:
        """Whether more than one person has to approve."""
        return self.needed > 1

    @property
    def last(self) -> bool:
        """Whether the next approval is the last one of several."""
        return self.several and self.needed - self.got == 1

    @property
    def void(self) -> tuple[Vote, ...]:
        """Approvals that an edit or their own giver made void."""
        return tuple(v for v in self.votes if v.verdict in ("approve", "edit") and not v.counts)

    @property
    def spoken(self) -> tuple[Vote, ...]:
        """The verdicts that are no questions: those stand apart with the agent's replies."""
        return tuple(v for v in self.votes if v.verdict != "respond")

    @property
    def voters(self) -> frozenset[str]:
        """The people whose approval counts."""
        return frozenset(v.person for v in self.votes if v.counts)

    @property
    def escalates_to(self) -> str:
        """Who decides when the deadline passes, in words; empty where nobody else does."""
        seat = self.terms.escalate_to
        return in_words(seat, several=False) if seat else ""


@dataclass(frozen=True, slots=True)
class Own:
    """What the person who looks may do.

    `why` says what keeps them from deciding, `waits` what keeps them from approving alone.
    """

    why: str = ""
    waits: str = ""
    take_back: bool = False


def standing(row: ApprovalRow, votes: Sequence[Vote]) -> Standing:
    """Approvals fill the stages in their order."""
    terms = terms_of(row.terms)
    left = [v for v in votes if v.counts]
    got, stages, waiting = len(left), [], True
    for seat in terms.stages:
        given, left = left[: seat.count], left[seat.count :]
        here = waiting and len(given) < seat.count
        waiting = waiting and not here
        stages.append(Stage(in_words(seat), seat.count, tuple(given), here))
    needed = sum(seat.count for seat in terms.stages)
    return Standing(terms, tuple(stages), got, needed, tuple(votes), window_of(row, terms))


def own(row: ApprovalRow, now: Standing, viewer: Viewer | None) -> Own:
    """What this person may do with this request now; nobody in particular: whatever roles allow."""
    if viewer is None:
        return Own()
    if row.status != "pending":
        mine = person(row.decided_by) == viewer.person
        return Own(take_back=mine and row.status == "held" and not row.imported)
    if said := lacks(viewer.actor, "decide"):
        return Own(said)
    if viewer.person in now.terms.barred:
        return Own(
            "Four eyes: you had a part in this thread, so somebody else has to decide. "
            "A try is noted in the record."
        )
    if viewer.person in now.voters:
        return Own(waits="You have approved. Somebody else is still needed.")
    # After an escalation whoever it went to may decide, too.
    extra = now.terms.escalate_to if row.escalated_at else None
    if extra is not None and viewer.sits(extra):
        return Own()
    seats = now.terms.stages
    turn = next((i for i, one in enumerate(now.stages) if one.now), 0)
    if not any(viewer.sits(seat) for seat in seats):
        return Own(f"This is for {now.stages[turn].who} to decide.")
    if not viewer.sits(seats[turn]):
        return Own(waits=f"{now.stages[turn].label} must approve before you.")
    return Own()


def window_of(row: ApprovalRow, terms: Terms) -> int:
    """Seconds in which a decision can be taken back: by the policy, else by the risk."""
    if row.terms is not None:
        return max(0, round(terms.undo_window))
    given = getattr(settings, "GATEPOST_UNDO_WINDOWS", None)
    windows = UNDO_WINDOW if given is None else dict(zip(UNDO_WINDOW, given, strict=False))
    return max(0, round(float(windows.get(row.risk, 0))))


def in_words(seat: Seat, *, several: bool = True) -> str:
    """Whose approval a seat needs: "2 of team finance", "ada or berta", "any reviewer"."""
    named = [*seat.people, *(f"team {team}" for team in seat.teams)]
    who = either(named) if len(named) > 1 else named[0] if named else "any reviewer"
    if several and seat.count > 1:
        return f"{seat.count} of {who}" if named else f"{seat.count} reviewers"
    return who
