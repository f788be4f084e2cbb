"""Counting votes: properties over whatever people do, in whatever order."""

from __future__ import annotations

from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from approvals.rules.terms import Seat, Terms
from approvals.rules.votes import Progress, Vote, person, progress, standing_edit

PEOPLE = st.sampled_from(["user:1", "user:2", "user:3", "user:4", "user:1/token:abcdefgh"])
VERDICTS = st.sampled_from(["approve", "approve", "approve", "edit", "take_back", "respond"])
TERMS = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(
    lambda counts: Terms(stages=tuple(Seat(count=n) for n in counts))
)


def vote(who: str, verdict: str, named: str = "h") -> Vote:
    return Vote(uuid4(), who, who, verdict, named)


VOTES = st.lists(st.tuples(PEOPLE, VERDICTS), max_size=14).map(
    lambda message: [vote(who, verdict) for who, verdict in message]
)


@given(TERMS, VOTES)
def test_a_person_counts_once_over_all_stages(terms: Terms, votes: list[Vote]) -> None:
    result = progress(terms, votes)
    counted = [who for some in result.done_by for who in some]
    assert len(counted) == len(set(counted))
    assert all("/token:" not in who for who in counted)
    assert set(counted) <= {person(v.reviewer) for v in votes}


@given(TERMS, VOTES)
def test_the_figures_fit_each_other(terms: Terms, votes: list[Vote]) -> None:
    result = progress(terms, votes)
    needed = sum(seat.count for seat in terms.stages)
    assert result.missing == needed - sum(map(len, result.done_by))
    assert result.complete == (result.missing == 0)
    assert result.got == len(result.done_by[result.stage - 1])
    assert result.needed == terms.stages[result.stage - 1].count
    assert result.stages == len(terms.stages)
    for seat, some in zip(terms.stages, result.done_by, strict=True):
        assert len(some) <= seat.count
    # The stage at work is the first that somebody is missing in.
    before = result.done_by[: result.stage - 1]
    assert all(len(s) == t.count for s, t in zip(before, terms.stages, strict=False))
    assert result.complete or result.got < result.needed


@given(TERMS, VOTES, PEOPLE)
def test_an_edit_makes_everything_before_it_void(terms: Terms, votes: list[Vote], who: str) -> None:
    result = progress(terms, [*votes, vote(who, "edit")])
    assert [w for some in result.done_by for w in some] == [person(who)]


@given(TERMS, VOTES, PEOPLE)
def test_one_more_approval_brings_at_most_one_person(
    terms: Terms, votes: list[Vote], who: str
) -> None:
    before = progress(terms, votes)
    after = progress(terms, [*votes, vote(who, "approve")])
    counted = {w for some in before.done_by for w in some}
    brings = person(who) not in counted and not before.complete
    assert before.missing - after.missing == brings


@given(TERMS, VOTES, PEOPLE)
def test_what_is_taken_back_counts_no_more(terms: Terms, votes: list[Vote], who: str) -> None:
    result = progress(terms, [*votes, vote(who, "take_back")])
    assert all(person(who) not in some for some in result.done_by)


@given(TERMS, VOTES)
def test_what_counts_are_approvals_and_edits(terms: Terms, votes: list[Vote]) -> None:
    result = progress(terms, votes)
    counted = [v for v in votes if v.decision in result.decisions]
    assert len(counted) == result.approvals
    assert {v.verdict for v in counted} <= {"approve", "edit"}


@given(TERMS, VOTES)
def test_what_is_written_reads_the_same(terms: Terms, votes: list[Vote]) -> None:
    result = progress(terms, votes)
    saved = result.columns
    seats = {"due_seats": saved["due_seats"], "due_except": saved["due_except"]}
    assert Progress.read(saved["tally"], terms, **seats) == result


def test_old_arguments_that_come_again_bring_no_old_vote_back() -> None:
    terms = Terms(stages=(Seat(count=2),))
    votes = [
        vote("user:1", "approve", "first"),
        vote("user:2", "edit", "second"),
        vote("user:3", "edit", "first"),
    ]
    assert progress(terms, votes).done_by == (("user:3",),)


def test_an_edit_counts_in_the_stage_that_its_maker_sat_in() -> None:
    terms = Terms(stages=(Seat(people=("a",)), Seat(people=("b",))))
    votes = [vote("user:1", "approve"), vote("user:2", "edit")]
    result = progress(terms, votes)
    assert (result.stage, result.got, result.missing) == (1, 0, 1)
    assert result.done_by == ((), ("user:2",))
    assert progress(terms, [*votes, vote("user:1", "approve")]).complete


def test_the_edit_that_stands_is_the_last_one_not_taken_back() -> None:
    first, second = vote("user:1", "edit", "1"), vote("user:2", "edit", "2")
    gone = vote("user:2", "take_back", "2")
    assert standing_edit([]) is None
    assert standing_edit([first, second]) == second
    assert standing_edit([first, second, gone]) == first
    approved = vote("user:2", "approve", "1")
    # Taking an approval back leaves the edit that it was about.
    assert standing_edit([first, approved, vote("user:2", "take_back", "1")]) == first
    assert standing_edit([second, gone]) is None
    assert isinstance(first.decision, UUID)
