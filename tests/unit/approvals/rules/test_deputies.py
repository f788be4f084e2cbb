"""Deputies: properties over whatever terms, people, deputies and votes there are."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.rules.deputies import Mandate, Turn, turn_of
from approvals.rules.terms import Seat, Terms, names_of
from approvals.rules.votes import Part, Progress, Vote, progress

pytestmark = pytest.mark.requirement("G08")

REQUEST = UUID(int=7)
TEAMS = {"ann": ("finance",), "ben": ("finance",), "cem": ("legal",), "dee": (), "eve": ()}
IDS = {name: f"user:{n}" for n, name in enumerate(TEAMS)}
NAMES = st.sampled_from(tuple(TEAMS))
SEATS = st.builds(
    Seat,
    people=st.lists(NAMES, max_size=2, unique=True).map(tuple),
    teams=st.lists(st.sampled_from(("finance", "legal")), max_size=1).map(tuple),
    count=st.integers(1, 2),
)
# (who is away, the deputy, in one request only)
DEPUTIES = st.lists(st.tuples(NAMES, NAMES, st.booleans()), min_size=1, max_size=4)


@dataclass(frozen=True)
class Voted:
    """A request after some people voted, and how each came to their vote."""

    now: Progress
    turns: tuple[tuple[str, Turn], ...]


def names(who: str) -> tuple[str, ...]:
    return names_of(who, TEAMS[who])


def turn(now: Progress, who: str, deputies: list[tuple[str, str, bool]]) -> Turn:
    mandates = [
        Mandate(IDS[away], away, names(away), REQUEST if one else None)
        for away, deputy, one in deputies
        if deputy == who and away != who
    ]
    return turn_of(now, IDS[who], names(who), lambda: mandates, request=REQUEST)


def can_end(now: Progress) -> bool:
    """Whether the missing approvals can be given by people in their own right."""
    seats = []
    for at, (seat, counted) in enumerate(zip(now.seats, now.counted, strict=True)):
        barred = now.represented if at + 1 == now.stage else ()
        seats += [(seat, barred)] * (seat.count - len(counted))
    voted = {vote.person for some in now.counted for vote in some} | set(now.barred)
    free = [who for who in TEAMS if IDS[who] not in voted]
    return _filled(seats, free)


def _filled(seats: list[tuple[Seat, tuple[str, ...]]], free: list[str]) -> bool:
    if not seats:
        return True
    (seat, barred), *rest = seats
    able = [who for who in free if seat.admits(names(who)) and IDS[who] not in barred]
    return any(_filled(rest, [other for other in free if other != who]) for who in able)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(SEATS, min_size=1, max_size=3),
    st.lists(NAMES, max_size=1),
    DEPUTIES,
    st.lists(NAMES, min_size=1, max_size=12),
)
def test_somebody_can_act_and_nobody_votes_twice(
    stages: list[Seat], barred: list[str], deputies: list[tuple[str, str, bool]], order: list[str]
) -> None:
    terms = Terms(stages=tuple(stages), barred=tuple(IDS[who] for who in barred))
    votes: list[Vote] = []
    for who in order:
        now = progress(terms, votes)
        if now.complete:
            break
        part, mandate = turn(now, who, deputies)
        if part is not Part.DUE:
            continue
        owner = mandate.name if mandate else who
        assert IDS[who] not in (*terms.barred, *(vote.person for vote in votes))
        assert now.seats[now.stage - 1].admits(names(owner))  # by a right that somebody has
        assert IDS[owner] not in terms.barred
        assert mandate is None or (owner, who) in {(away, one) for away, one, _ in deputies}
        could = can_end(now)
        vote = Vote(
            uuid4(), IDS[who], who, "approve", "h", for_person=mandate.person if mandate else ""
        )
        votes.append(vote)
        then = progress(terms, votes)
        assert then.approvals == now.approvals + 1
        if mandate is not None and could:
            assert can_end(then)  # no deputy takes the approval that is missing elsewhere
        rights = [[v.for_person or v.person for v in some] for some in then.counted]
        assert all(len(some) == len(set(some)) for some in rights)  # each right once in a stage
    real = [vote.person for vote in votes]
    assert len(real) == len(set(real))
    end = progress(terms, votes)
    assert (
        Progress.read(
            end.to_json(), terms, due_seats=end.due_seats, due_except=end.due_except
        ).counted
        == end.counted
    )
    # Deputies add people who may act; they take the right of nobody away.
    for who in TEAMS:
        if end.part(IDS[who], names(who)) is Part.DUE:
            assert turn(end, who, deputies) == Turn(Part.DUE)


def test_one_right_gives_one_approval_in_a_stage() -> None:
    terms = Terms(stages=(Seat(teams=("finance",), count=2),))
    deputies = [("ann", "dee", False)]
    part, mandate = turn(progress(terms, ()), "dee", deputies)
    assert (part, mandate and mandate.name) == (Part.DUE, "ann")
    vote = Vote(uuid4(), IDS["dee"], "dee for ann", "approve", "h", for_person=IDS["ann"])
    then = progress(terms, [vote])
    assert then.part(IDS["ann"], names("ann")) is Part.REPRESENTED
    assert IDS["ann"] in then.due_except
    assert then.part(IDS["ben"], names("ben")) is Part.DUE
    # In a later stage the same person counts again: two people, two votes.
    terms = Terms(stages=(Seat(teams=("finance",)), Seat(people=("ann",))))
    assert progress(terms, [vote]).part(IDS["ann"], names("ann")) is Part.DUE


def test_a_deputy_whom_a_later_stage_needs_gives_that_approval_and_no_other() -> None:
    terms = Terms(stages=(Seat(people=("ann",)), Seat(people=("dee",))))
    assert turn(progress(terms, ()), "dee", [("ann", "dee", False)]) == Turn(Part.LATER)


def test_nobody_represents_whom_four_eyes_keep_out() -> None:
    terms = Terms(stages=(Seat(people=("ann", "ben")),), barred=(IDS["ann"],))
    assert turn(progress(terms, ()), "dee", [("ann", "dee", False)]) == Turn(Part.NONE)
    assert turn(progress(terms, ()), "dee", [("ben", "dee", True)]).part is Part.DUE
    barred = Terms(stages=(Seat(people=("ben",)),), barred=(IDS["dee"],))
    assert turn(progress(barred, ()), "dee", [("ben", "dee", False)]) == Turn(Part.BARRED)
