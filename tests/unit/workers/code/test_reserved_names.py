"""Names of agents that the engine brings itself: no author's agent comes under one of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gatepost
import workers
from workers.authoring.errors import GraphError
from workers.authoring.graph import END, RESERVED, Graph, State, tool
from workers.code import registry

AGENT = """
from gatepost import END, Graph, State


class Order(State):
    goal: str = "tea"


graph = Graph({name!r}, Order)


@graph.node(then=END)
def buy(state, ctx):
    return None
"""


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_worker_refuses_an_agent_of_such_a_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"agent_named_{name}"
    (tmp_path / f"{module}.py").write_text(AGENT.format(name=name), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GraphError, match=f"{module}.* holds an agent named '{name}'.*Choose"):
        registry.load([module])


def test_every_agent_of_the_engine_has_a_reserved_name() -> None:
    names = [
        module.name
        for package in (workers, gatepost)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        # LangGraph is not installed here.
        if not module.name.endswith("__main__") and "langgraph" not in module.name
    ]
    assert len(names) > 50
    graphs = (vars(importlib.import_module(name)).values() for name in names)
    assert {one.name for values in graphs for one in values if isinstance(one, Graph)} == RESERVED


@pytest.mark.requirement("F06")
def test_a_graph_that_is_reached_twice_is_one_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package and a module of it may both stand in GATEPOST_AGENTS."""
    package = tmp_path / "shop_of_two_ways"
    package.mkdir()
    (package / "__init__.py").write_text("from .orders import graph as graph\n")
    (package / "orders.py").write_text(AGENT.format(name="reached-twice"))
    monkeypatch.syspath_prepend(tmp_path)
    modules = ["shop_of_two_ways", "shop_of_two_ways.orders"]
    assert [graph.name for graph, *_ in registry.discover(modules)] == ["reached-twice"]


@pytest.mark.requirement("F06")
def test_names_that_are_keys_of_records_stand_once() -> None:
    class Nothing(State):
        pass

    graph = Graph("twice", Nothing)
    graph.node("pay", then=END)(lambda state, ctx: {})
    with pytest.raises(GraphError, match="two nodes named 'pay'"):
        graph.node("pay", then=END)(lambda state, ctx: {})
    module = ModuleType("twice_agents")
    ones = [tool("pay")(call) for call in (lambda to, *, key: to, lambda by, *, key: by)]
    vars(module).update(graph=graph, pay_a=ones[0], pay_b=ones[1])
    sys.modules["twice_agents"] = module
    try:
        with pytest.raises(GraphError, match="two tools named 'pay'"):
            list(registry.discover(["twice_agents"]))
    finally:
        del sys.modules["twice_agents"]
