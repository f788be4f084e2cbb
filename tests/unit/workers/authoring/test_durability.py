"""What an author may declare about durability: refused with a reason, kept with the version."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Graph, State
from workers.code import registry
from workers.node.context import Context


class Chat(State):
    text: str = ""


def _graph(**declared: Any) -> Graph:
    graph = Graph("chat", Chat, **declared)

    @graph.node(then=END)
    def answer(state: Chat, ctx: Context) -> dict[str, Any]:
        return {"text": "hello"}

    return graph


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"durability": "lasting"}, "There is no durability 'lasting'; there are durable, hot"),
        ({"ttl": 60}, "holds for durability='ephemeral' only"),
        ({"durability": "hot", "ttl": 60}, "holds for durability='ephemeral' only"),
        ({"durability": "ephemeral", "ttl": 0}, "must be a timedelta or seconds"),
        ({"durability": "ephemeral", "ttl": "1 h"}, "must be a timedelta or seconds"),
        ({"durability": "ephemeral", "ttl": True}, "must be a timedelta or seconds"),
        ({"durability": "ephemeral", "ttl": timedelta(days=31)}, "2,592,000 seconds"),
    ],
)
def test_a_durability_that_means_nothing_is_refused(declared: dict[str, Any], reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        _graph(**declared)


@pytest.mark.parametrize(
    ("declared", "described"),
    [
        ({}, {}),
        ({"durability": "durable"}, {}),
        ({"durability": "hot"}, {"durability": "hot"}),
        ({"durability": "ephemeral"}, {"durability": "ephemeral", "ttl": 3600}),
        (
            {"durability": "ephemeral", "ttl": timedelta(minutes=2)},
            {"durability": "ephemeral", "ttl": 120},
        ),
        ({"durability": "ephemeral", "ttl": 90.5}, {"durability": "ephemeral", "ttl": 90}),
    ],
)
def test_the_durability_is_described_with_the_graph(
    declared: dict[str, Any], described: dict[str, Any]
) -> None:
    graph = _graph(**declared).describe_graph()
    assert {k: graph[k] for k in ("durability", "ttl") if k in graph} == described


@pytest.mark.parametrize("durability", ["ephemeral"])
def test_what_no_worker_can_give_yet_is_refused_at_registration(
    make_bench: Any, durability: Any
) -> None:
    graph = _graph(durability=durability)
    module = SimpleNamespace(__name__="chat", __file__=None, graph=graph)
    with pytest.raises(GraphError, match=f"durability='{durability}'.*can't give yet"):
        make_bench(module)


def test_a_hot_agent_is_refused_while_the_hot_store_does_not_keep_what_it_acknowledges(
    db: None, hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "discover", lambda _: iter([(_graph(durability="hot"), {}, [])]))
    assert list(registry.load(["chat"])) == ["chat"]
    hot_store.config_set("appendfsync", "everysec")
    try:
        with pytest.raises(GraphError, match=r"durability='hot'.*appendfsync always"):
            registry.load(["chat"])
    finally:
        hot_store.config_set("appendfsync", "always")
