"""What an author may declare about durability: refused with a reason, kept with the version."""

from __future__ import annotations

from datetime import timedelta
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import redis

from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Encrypted, Graph, Searchable, State, tool
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
        ({"durability": "hot", "acknowledge": "soon"}, "there are buffered, durable, everysec"),
        ({"acknowledge": "buffered"}, "a durable agent acknowledges each step in the database"),
        ({"durability": "ephemeral", "acknowledge": "durable"}, "agent acknowledges nothing"),
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
        ({"durability": "hot", "acknowledge": "buffered"}, {"durability": "hot"}),
        (
            {"durability": "hot", "acknowledge": "durable"},
            {"durability": "hot", "acknowledge": "durable"},
        ),
        (
            {"durability": "hot", "acknowledge": "everysec"},
            {"durability": "hot", "acknowledge": "everysec"},
        ),
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
    assert {k: graph[k] for k in ("durability", "ttl", "acknowledge") if k in graph} == described


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


@pytest.mark.parametrize(
    ("acknowledge", "appendfsync", "taken"),
    [
        ("everysec", "everysec", True),
        ("everysec", "no", False),
        ("buffered", "everysec", False),
        ("durable", "no", True),
    ],
)
@pytest.mark.requirement("A31")
def test_an_agent_is_taken_where_the_hot_store_keeps_what_it_acknowledges(
    db: None,
    hot_store: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    acknowledge: str,
    appendfsync: str,
    taken: bool,
) -> None:
    graph = _graph(durability="hot", acknowledge=acknowledge)
    monkeypatch.setattr(registry, "discover", lambda _: iter([(graph, {}, [])]))
    hot_store.config_set("appendfsync", appendfsync)
    try:
        if taken:
            assert list(registry.load(["chat"])) == ["chat"]
        else:
            with pytest.raises(GraphError, match=f"appendfsync {appendfsync}"):
                registry.load(["chat"])
    finally:
        hot_store.config_set("appendfsync", "always")


def test_a_hot_agent_that_ships_is_left_out_there_and_the_others_are_taken(
    db: None, hot_store: redis.Redis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = [
        EntryPoint(name, f"gatepost_agents.{name}", registry.SHIPPED_AGENTS)
        for name in ("connect_four", "docs_chat")
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: EntryPoints(shipped))
    monkeypatch.setattr(registry, "agent_modules", lambda: [each.module for each in shipped])
    settings.GATEPOST_AGENTS = []
    assert set(registry.load()) == {"connect-four", "docs-chat"}
    hot_store.config_set("appendfsync", "everysec")
    try:
        assert set(registry.load()) == {"docs-chat"}
        # Who asks for it by name is told why it can't be had.
        settings.GATEPOST_AGENTS = ["gatepost_agents.connect_four"]
        with pytest.raises(GraphError, match="'connect-four' has durability='hot'"):
            registry.load()
    finally:
        hot_store.config_set("appendfsync", "always")


class Secret(State):
    text: str = ""
    pin: Annotated[str, Encrypted(readers=("admin",))] = ""


class Searched(State):
    text: Annotated[str, Searchable()] = ""


def _never(args: Any, result: Any, *, key: str) -> None:
    raise AssertionError("never called")


@tool("pay", undo=_never)
def pay(*, key: str) -> None:
    """Pay."""


@tool("post", idempotent=True)
def post(*, key: str) -> None:
    """Post."""


@pytest.mark.requirement("A14")
@pytest.mark.parametrize(
    ("declared", "node", "tools", "reason"),
    [
        ({}, {"gate": True}, {}, "the node 'answer' has a gate, and a request for approval"),
        ({}, {"on_expired": "answer"}, {}, "the node 'answer' has a gate"),
        ({}, {}, {"pay": pay}, "the tool 'pay' has an undo, and an undo needs the record"),
        ({}, {}, {"post": post}, "the tool 'post' changes something outside"),
        ({"on_failure": "undo"}, {}, {}, "on_failure='undo', and there is no record to undo"),
        ({"payloads": "file"}, {}, {}, "payloads='file'"),
        ({"state": Secret}, {}, {}, "the channel 'pin' is encrypted"),
        ({"state": Searched}, {}, {}, "the channel 'text' is searchable"),
    ],
)
def test_what_needs_a_record_is_refused_at_registration(
    make_bench: Any, declared: dict[str, Any], node: dict[str, Any], tools: Any, reason: str
) -> None:
    graph = Graph("chat", **{"state": Chat, "durability": "ephemeral", **declared})

    @graph.node(then=END, **node)
    def answer(state: Chat, ctx: Context) -> dict[str, Any]:
        return {"text": "hello"}

    module = SimpleNamespace(__name__="chat", __file__=None, graph=graph, TOOLS=tools)
    with pytest.raises(GraphError, match="can't be ephemeral, since that keeps nothing") as refusal:
        make_bench(module)
    assert reason in str(refusal.value)
    # The same agent, durable, is taken.
    durable = {name: value for name, value in declared.items() if name != "durability"}
    plain = Graph("chat", **{"state": Chat, **durable})
    plain.node(then=END, **node)(answer)
    make_bench(SimpleNamespace(__name__="plain", __file__=None, graph=plain, TOOLS=tools))
