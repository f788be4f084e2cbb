"""Keys that are no names: refused where they are new, kept in threads that have such keys."""

from __future__ import annotations

from typing import Any

import pytest

from gatepost import END, Context, Graph, Harness, Respond, State
from workers.node import records

pytestmark = pytest.mark.requirement("E02")
KEYS = ["p\u0430y", "pay\u200b", "pay\u00a0"]


class Work(State):
    done: str = ""


def graph_of(first: str, second: str) -> Graph:
    """A graph that looks something up under a key, asks, and looks up more under another one."""
    graph = Graph("keys", Work)

    @graph.node(then="more")
    def look(state: Work, ctx: Context) -> dict[str, Any]:
        ctx.activity(str, "a", key=first)
        ctx.ask("Right?", key="right")
        return {}

    @graph.node(then=END)
    def more(state: Work, ctx: Context) -> dict[str, Any]:
        return {"done": ctx.activity(str, "b", key=second)}

    return graph


@pytest.mark.parametrize("key", KEYS)
def test_an_old_thread_goes_on_at_new_positions(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before_the_rule:
        before_the_rule.setattr(records, "name_fault", lambda name: "")
        thread = Harness(graph_of(key, f"{key} 2")).play()
    assert thread.status == "waiting"
    thread.decide(Respond("yes"))
    assert (thread.status, thread.state["done"]) == ("succeeded", "b")


@pytest.mark.parametrize("key", KEYS)
def test_a_thread_without_such_keys_takes_none(key: str) -> None:
    thread = Harness(graph_of("pay", key)).play(decide=Respond("yes"))
    assert thread.status == "failed"
    assert [a.key for a in thread.activities if a.key.startswith(f"{key}#")] == []
