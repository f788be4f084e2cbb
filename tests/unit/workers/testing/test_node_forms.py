"""Each form of node ends in a play as its table says, with and without an event loop around it.

Each is played twice: by itself, and inside of a running event loop, as in a notebook.
"""

from __future__ import annotations

import asyncio

import pytest

from gatepost import Harness, Played
from tests.unit.workers.graphs.node_forms import FORMS

pytestmark = [pytest.mark.requirement("F05"), pytest.mark.slow]


def play(name: str) -> Played:
    form = FORMS[name]
    others = [other.graph for other in FORMS.values() if other is not form]
    return Harness(form.graph, agents=others).play(form.input, decide=list(form.verdicts))


@pytest.mark.parametrize("name", FORMS)
def test_it_ends_the_same_where_an_event_loop_runs(name: str) -> None:
    async def inside() -> Played:
        return play(name)

    alone, around = play(name), asyncio.run(inside())
    assert alone.status == FORMS[name].ends, alone.reason
    assert (around.status, around.reason) == (alone.status, alone.reason)
    assert around.state == alone.state
    assert [(e.tool, e.state) for e in around.effects] == [(e.tool, e.state) for e in alone.effects]


def test_a_node_that_is_no_plain_function_says_what_to_write() -> None:
    for name in ("a-coroutine", "a-generator"):
        assert "Write `def`, and put what must be awaited into an activity" in play(name).reason
