"""A parent cancels a child once, with what that one started; who has ended stays as it ended."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import leases, queries
from checkpoints.errors import LeaseLost
from workers.authoring.graph import END, Graph, State
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.node.context import Context
from workers.slot import reached
from workers.step.ledger import DatabaseLedger
from workers.testing.harness import Harness

from .agents import clerk, reader
from .conftest import HEART, Fleet


class Choice(State):
    children: list[dict[str, str]] = []
    fails: bool = False
    results: list[str] = []


chooser = Graph("chooser", Choice)


@chooser.node(then="choose")
def begin(state: Choice, ctx: Context) -> dict[str, Any]:
    slow = ctx.spawn("clerk", {"to": "Ada", "depth": 1})
    return {"children": [slow, ctx.spawn("reader", {"file": "a"})]}


@chooser.node(then=END)
def choose(state: Choice, ctx: Context) -> dict[str, Any]:
    slow, quick = state.children
    ctx.join([quick])
    ctx.cancel(slow)
    ctx.cancel(quick)
    if state.fails:
        raise ValueError("once more")
    joined = ctx.join([slow, quick], failures="list")
    return {"results": [*(r["text"] for r in joined.results), *(f.status for f in joined.failures)]}


@pytest.fixture
def house(fleet: Fleet) -> Fleet:
    fleet.agents["chooser"] = announce(chooser, {}, ())
    return fleet


def work(fleet: Fleet) -> None:
    """Work and sweep until nothing happens."""
    fleet.work()
    while reached.carry_out():
        fleet.work()


def test_a_child_is_cancelled_with_all_that_it_started_and_once(house: Fleet) -> None:
    thread = house.start("chooser", fails=True)
    work(house)
    assert house.row(thread).status == "failed"
    slow, quick = (UUID(c["$thread"]) for c in house.state(thread)["children"])
    below = house.children(slow)[0]
    assert [str(house.row(t).status) for t in (slow, below, quick)] == [
        *("cancelled", "cancelled", "succeeded"),
    ]
    house.edit(thread, fails=False)
    work(house)
    assert house.state(thread)["results"] == ["A", "cancelled"]
    for one in (slow, below):
        assert house.kinds(one).count("thread.cancelled") == 1
    calls = [a for a in queries.activities(thread) if a.tool == "cancel"]
    assert [a.state for a in calls] == ["done"] * 2
    house.verify()


def test_an_end_that_comes_too_late_is_refused(house: Fleet) -> None:
    thread = house.start("chooser")
    house.work_on(thread)
    slow, quick = sorted(house.children(thread), key=lambda c: house.row(c).agent)
    house.work_on(quick)
    late = leases.acquire(slow, owner="worker:slow")
    assert late is not None
    house.work_on(thread)
    assert reached.carry_out() >= 1
    with pytest.raises(LeaseLost):
        Engine(house.agents["clerk"], DatabaseLedger(), HEART, lambda: False).advance(late)
    work(house)
    assert house.state(thread)["results"] == ["A", "cancelled"]
    house.verify()


@pytest.mark.parametrize("stop_after", [None, *range(1, 12)])
def test_a_harness_cancels_alike(stop_after: int | None) -> None:
    harness = Harness(chooser, agents=[clerk, reader], stop_after=stop_after)
    thread = harness.play()
    assert thread.state["results"] == ["A", "cancelled"]
    slow = thread.children[0]
    assert slow.kinds.count("thread.cancelled") == 1
    assert {str(c.status) for c in slow.children} <= {"cancelled"}
