"""Fifty seeded pairs of runs of 200 steps: the event at which they part, each in under a second."""

from __future__ import annotations

import time
from random import Random
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.queries.compared import steps
from dashboard.html.comparison.compare import Comparison, compare
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_agent, make_thread
from tests.unit.checkpoints.old_statistics import forget_statistics, rows_read
from tests.unit.dashboard.html.comparison.runs import (
    PLANTED,
    Script,
    planted,
    play,
    played,
    script_of,
)

pytestmark = pytest.mark.django_db
SECONDS = 1.0


def heads_compared(one: UUID, other: UUID, cast: Cast) -> Comparison:
    """The comparison of two threads where they stand."""
    left, right = (
        queries.checkpoint(thread, queries.thread(thread, workspace=cast.workspace).head)
        for thread in (one, other)
    )
    return compare(left, right)


def check(made: Comparison, changed: Script, kind: str) -> None:
    """The very event is found on both sides, or on the one that has it."""
    assert made.diverged.step == changed.slot + 1
    assert made.diverged.equal == changed.slot + 1  # the input counts as step 0
    sides = {"left": made.old_event, "right": made.new_event}
    lacking = {"extra": "left", "missing": "right"}.get(kind)
    for side, event in sides.items():
        if side == lacking:
            assert event is None
            continue
        assert event is not None
        assert (event.kind, event.data.get("key", "")) == changed.expected
        if event.kind != "checkpoint.committed":
            assert event.data["step"] == changed.slot + 1
        else:
            assert event.data["number"] == changed.slot + 1


def pairs(cast: Cast, *, n_pairs: int, n_steps: int) -> list[float]:
    """Compare a run with so many variants of it; the seconds that each comparison took."""
    agent = make_agent()
    script = script_of(1, n_steps)
    base = played(script, 1, workspace=cast.workspace, agent=agent)
    took = []
    for seed in range(n_pairs):
        kind = PLANTED[seed % len(PLANTED)]
        slot = Random(seed).randrange(n_steps)
        changed = planted(script, seed + 2, slot, kind)
        other = played(changed, seed + 2, workspace=cast.workspace, agent=agent)
        begun = time.perf_counter()
        made = heads_compared(base, other, cast)
        took.append(time.perf_counter() - begun)
        check(made, changed, kind)
    assert len(took) == n_pairs
    return took


@pytest.mark.requirement("A24")
def test_each_kind_of_difference_is_found(cast: Cast) -> None:
    pairs(cast, n_pairs=len(PLANTED), n_steps=8)


@pytest.mark.slow
@pytest.mark.requirement("A24")
def test_reads_do_not_grow_with_the_thread_where_statistics_are_old(cast: Cast) -> None:
    """The planner takes the tables for nearly empty, as between a load and the next ANALYZE."""
    forget_statistics()
    agent = make_agent()
    script = script_of(1, 100)
    one, other = (played(script, noise, workspace=cast.workspace, agent=agent) for noise in (1, 2))
    before = rows_read(["gp_activity"])["gp_activity"]
    made = heads_compared(one, other, cast)
    assert made.diverged.step is None
    assert rows_read(["gp_activity"])["gp_activity"] - before < 20 * len(script.steps)


@pytest.mark.slow
@pytest.mark.requirement("A24")
def test_fifty_pairs_of_two_hundred_steps(cast: Cast) -> None:
    took = pairs(cast, n_pairs=50, n_steps=200)
    assert max(took) < SECONDS, f"the slowest took {max(took):.2f} s"


def test_runs_longer_than_one_read_are_compared_to_their_end(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "AT_ONCE", 4)
    script = script_of(5, 11)
    agent = make_agent()
    one, other = (played(script, noise, workspace=cast.workspace, agent=agent) for noise in (1, 2))
    made = heads_compared(one, other, cast)
    assert (made.diverged.step, made.diverged.equal) == (None, 12)
    assert made.patch == []


def test_the_input_is_the_first_content_of_an_independent_run(cast: Cast) -> None:
    agent = make_agent()
    one, other = (
        make_thread(workspace=cast.workspace, agent=agent, input={"goal": goal})
        for goal in ("tea", "coffee")
    )
    made = heads_compared(one, other, cast)
    assert made.diverged.step == 0
    assert made.old_event is not None
    assert made.old_event.kind == "thread.started"


def test_a_branch_is_compared_from_where_it_left(cast: Cast) -> None:
    script = script_of(6, 6)
    driver = drive(make_thread(workspace=cast.workspace))
    random = Random(1)
    for step in script.steps:
        play(driver, step, random)
    thread = driver.work.thread
    early = queries.checkpoint_by_number(thread, 2)
    late = queries.checkpoint_by_number(thread, 6)
    made = compare(early, late)
    assert made.common is not None
    assert made.common.number == 2
    assert (made.old_event, made.diverged.step) == (None, 3)
    assert made.new_event is not None
    assert made.new_event.data["key"].startswith(("look#", "chat#"))
