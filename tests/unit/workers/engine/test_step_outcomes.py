"""A step that ends without a checkpoint keeps what its nodes have finished."""

from __future__ import annotations

from typing import Any

import pytest

from gatepost import END, Context, Graph, State
from workers.testing.harness import Harness


class Pair(State):
    log: str = ""
    seen: int = 0


@pytest.mark.parametrize("update", [{"seen": "no number"}, None], ids=["refused", "raises"])
def test_a_finished_node_is_not_worked_again_after_its_sibling_failed(update: Any) -> None:
    graph, calls = Graph("pair", Pair), []

    @graph.node(then=("fine", "weak"))
    def begin(state: Pair, ctx: Context) -> dict[str, Any]:
        return {}

    @graph.node(then=END)
    def fine(state: Pair, ctx: Context) -> dict[str, Any]:
        calls.append("fine")
        return {"log": "done"}

    @graph.node(then=END)
    def weak(state: Pair, ctx: Context) -> dict[str, Any]:
        calls.append("weak")
        if calls.count("weak") > 1:
            return {"seen": 1}
        if update is None:
            raise ValueError("not yet")
        return dict(update)

    thread = Harness(graph).play()
    assert (thread.status, thread.step) == ("failed", 1)
    assert [a.tool for a in thread.activities if a.kind == "node"] == ["fine"]
    thread.retry()
    assert (thread.status, sorted(calls)) == ("succeeded", ["fine", "weak", "weak"])
    assert thread.state == {"log": "done", "seen": 1}
