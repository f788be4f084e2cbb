"""The first content that differs is found, and nothing that only names or dates the work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.queries.compared.steps import LoggedEvent, LoggedStep
from dashboard.html.comparison.contents import HASH, ID, TIME, without_names
from dashboard.html.comparison.divergence import Difference, Divergence, first_divergence
from tests.unit.dashboard.html.comparison.runs import PLANTED, logged, planted, script_of

SEEDS = st.integers(0, 2**32)


def name_of(step: LoggedStep | None, seq: int) -> tuple[str, str]:
    """(kind, key) of an event of a step."""
    assert step is not None
    event = next((e for e in step.events if e.seq == seq), None)
    return (event.kind, str(event.data.get("key", ""))) if event else ("checkpoint.committed", "")


def event_at(steps: list[LoggedStep], side: Difference | None) -> tuple[str, str]:
    """(kind, key) of the event that a divergence names."""
    assert side is not None
    step = next(s for s in steps if s.seq == side.seq or any(e.seq == side.seq for e in s.events))
    return name_of(step, side.seq)


@given(SEEDS, SEEDS, SEEDS, st.integers(1, 30))
def test_equal_work_is_equal_whoever_did_it_when(
    seed: int, one: int, other: int, n_steps: int
) -> None:
    script = script_of(seed, n_steps)
    result = first_divergence(logged(script, one), logged(script, other))
    assert result == Divergence(None, None, None, n_steps)


@given(SEEDS, SEEDS, SEEDS, st.data())
def test_the_first_planted_difference_is_found(
    seed: int, one: int, other: int, data: st.DataObject
) -> None:
    script = script_of(seed, 12)
    slot = data.draw(st.integers(0, 11))
    kind = data.draw(st.sampled_from(PLANTED))
    changed = planted(script, seed + 1, slot, kind)
    ours, theirs = logged(script, one), logged(changed, other)
    for left, right in ((ours, theirs), (theirs, ours)):
        result = first_divergence(left, right)
        assert (result.step, result.equal) == (slot + 1, slot)
        sides = [
            event_at(steps, side)
            for steps, side in ((left, result.left), (right, result.right))
            if side is not None
        ]
        assert set(sides) == {changed.expected}
        lacking = kind in ("extra", "missing")
        assert len(sides) == (1 if lacking else 2)


@given(SEEDS, SEEDS, st.integers(1, 11))
def test_a_way_that_ends_earlier_parts_where_the_other_goes_on(
    seed: int, noise: int, length: int
) -> None:
    whole = logged(script_of(seed, 12), noise)
    result = first_divergence(whole[:length], logged(script_of(seed, 12), noise + 1))
    assert (result.step, result.equal, result.left) == (length + 1, length, None)
    assert result.right is not None


def test_it_stops_where_too_many_steps_are_the_same() -> None:
    script = script_of(1, 30)
    result = first_divergence(logged(script, 1), logged(script, 2), at_most=10)
    assert result == Divergence(None, None, None, 10, whole=False)


def test_only_what_is_needed_is_read() -> None:
    script = script_of(2, 30)
    changed = planted(script, 3, 4, "result")
    read: list[int] = []

    def reading(steps: list[LoggedStep]) -> Any:
        for step in steps:
            read.append(step.number)
            yield step

    first_divergence(reading(logged(script, 1)), logged(changed, 2))
    assert max(read) <= 6


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"customer": "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10"}, {"customer": ID}),
        ({"created_at": "2026-11-26T09:46:51.139Z", "price": 5}, {"created_at": TIME, "price": 5}),
        ({"timestamp": 1_780_000_000.5}, {"timestamp": TIME}),
        ({"payload_hash": "ab" * 32}, {"payload_hash": HASH}),
        # What is no name of the work is content: dates, departures, references to files.
        ({"due": "2026-11-30"}, {"due": "2026-11-30"}),
        ({"departure": "2026-12-01T10:00Z"}, {"departure": "2026-12-01T10:00Z"}),
        ({"$artifact": "ab" * 32}, {"$artifact": "ab" * 32}),
        ({"id": "INV-4471"}, {"id": "INV-4471"}),
    ],
)
def test_what_only_names_or_dates_a_value_is_left_out(value: Any, left: Any) -> None:
    assert without_names(value) == left
    assert without_names([value]) == [left]


def test_a_failure_counts_where_nothing_followed_it() -> None:
    steps = logged(script_of(3, 3), 1)
    failed = LoggedEvent(
        steps[1].seq - 1, "step.failed", {"node": "search", "step": 2, "error": "no answer"}
    )
    retried = [
        steps[0],
        replace(steps[1], events=(*steps[1].events[:-1], failed, steps[1].events[-1])),
        steps[2],
    ]
    assert first_divergence(steps, retried).step is None
    ended = replace(steps[2], source="", events=(replace(failed, data={"node": "weigh"}),))
    result = first_divergence(steps, [*steps[:2], ended])
    assert result.step == 3
    assert result.right is not None
    assert result.right.kind == "step.failed"


def test_what_a_rollback_left_behind_is_no_content() -> None:
    steps = logged(script_of(4, 4), 1)
    stray = LoggedEvent(
        steps[2].seq - 1,
        "activity.finished",
        {"node": "weigh", "key": "look#9", "step": 4, "branch": 7},
        "activity",
        0,
        "done",
        "",
        {},
        {},
    )
    mark = replace(steps[1], source="rollback", delta={}, events=(stray,), nodes=(), number=9)
    assert first_divergence(steps, [*steps[:2], mark, *steps[2:]]).step is None
