"""What counts as stricter: of two demands, by each thing that a policy can demand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from approvals.policies.strictness import Demand, stricter
from approvals.rules.terms import Seat, Terms

PLAIN = Demand(True, "medium", Terms(undo_window=5))

seats = some.builds(
    Seat,
    people=some.lists(some.sampled_from(["ada", "bob", "eve"]), unique=True, max_size=3).map(tuple),
    teams=some.lists(some.sampled_from(["desk", "board"]), unique=True, max_size=2).map(tuple),
    count=some.integers(1, 3),
)
demands = some.builds(
    Demand,
    asks=some.sampled_from([True, True, True, False]),
    risk=some.sampled_from(["low", "medium", "high"]),
    terms=some.builds(
        Terms,
        stages=some.lists(seats, min_size=1, max_size=3).map(tuple),
        four_eyes=some.booleans(),
        undo_window=some.sampled_from([0.0, 10.0, 60.0]),
        valid_for=some.sampled_from([60.0, 3600.0]),
    ),
)


def worth(demand: Demand) -> object:
    """A demand as far as an approval is worth more or less for it."""
    if not demand.asks:
        return None
    terms = demand.terms
    stages = [(s.count, frozenset(s.people), frozenset(s.teams)) for s in terms.stages]
    return demand.risk, stages, terms.four_eyes, terms.undo_window, terms.valid_for


@given(demands, demands)
def test_of_any_two_demands_one_is_stricter_or_they_are_worth_the_same(
    one: Demand, other: Demand
) -> None:
    same = worth(one) == worth(other)
    assert same == (not stricter(one, other) and not stricter(other, one))
    assert not stricter(one, one)


@given(demands, demands, demands)
def test_what_is_no_stricter_stays_so_by_way_of_a_third(a: Demand, b: Demand, c: Demand) -> None:
    if not stricter(a, b) and not stricter(b, c):
        assert not stricter(a, c)


TERMS = PLAIN.terms


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (replace(PLAIN, terms=replace(TERMS, stages=(Seat(count=2),))), "more people"),
        (replace(PLAIN, terms=replace(TERMS, stages=(Seat(), Seat()))), "more people"),
        (replace(PLAIN, terms=replace(TERMS, stages=(Seat(people=("ada",)),))), "other"),
        (replace(PLAIN, terms=replace(TERMS, stages=(Seat(teams=("desk",)),))), "other"),
        (replace(PLAIN, terms=replace(TERMS, four_eyes=True)), "four eyes"),
        (replace(PLAIN, terms=replace(TERMS, undo_window=6)), "6 seconds"),
        (replace(PLAIN, terms=replace(TERMS, valid_for=60)), "60 seconds"),
        (replace(PLAIN, risk="high"), "risk is high"),
    ],
)
def test_each_thing_that_can_be_demanded_counts(now: Demand, text: str) -> None:
    assert text in stricter(now, PLAIN)
    assert stricter(PLAIN, now) == "" or "people" in text or "other" in text
    assert "a person" in stricter(now, Demand())
    assert stricter(Demand(), now) == ""


def test_who_was_called_in_by_an_escalation_counts_too() -> None:
    named = replace(TERMS, stages=(Seat(people=("ada",)),), escalate_to=Seat(people=("eve",)))
    request = replace(PLAIN, terms=named)
    without = replace(PLAIN, terms=replace(named, escalate_to=None))
    assert stricter(without, request) == ""
    assert "other" in stricter(without, replace(request, escalated=True))
    assert stricter(request, replace(request, escalated=True)) == ""
