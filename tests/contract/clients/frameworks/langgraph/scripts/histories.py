"""Time travel, delta channels, pruning and the order of writes, beside LangGraph's own saver."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from gatepost_client.langgraph import GatepostSaver, Outdated


class Walk(TypedDict, total=False):
    """Where a walker has been."""

    places: Annotated[list[str], lambda old, new: old + new]
    mood: str


def walk(saver: Any) -> Any:
    """A graph of three nodes."""
    builder = StateGraph(Walk)
    for name in ("a", "b", "c"):
        builder.add_node(name, lambda state, name=name: {"places": [f"{name}{state['mood']}"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")
    builder.add_edge("c", END)
    return builder.compile(checkpointer=saver)


def shape(graph: Any, config: Any) -> list[Any]:
    """What `get_state_history` says, without ids."""
    history = list(graph.get_state_history(config))
    number = {s.config["configurable"]["checkpoint_id"]: n for n, s in enumerate(history)}
    return [
        [
            s.values,
            list(s.next),
            s.metadata["source"],
            s.metadata["step"],
            s.parent_config and number[s.parent_config["configurable"]["checkpoint_id"]],
        ]
        for s in history
    ]


def travel(saver: Any) -> tuple[Any, Any]:
    """A walk, an update of its end, one of its past, and a walk from there."""
    graph, config = walk(saver), {"configurable": {"thread_id": "travel"}}
    graph.invoke({"mood": "!", "places": ["home"]}, config, durability="sync")
    graph.update_state(config, {"mood": "?"})
    before_b = next(s for s in graph.get_state_history(config) if s.next == ("b",))
    other = graph.update_state(before_b.config, {"places": ["bridge"]})
    graph.invoke(None, other, durability="sync")
    graph.invoke(None, before_b.config, durability="sync")
    return graph, config


def time_travel() -> None:
    """The same history as with LangGraph's own saver; prints it for the comparison with the API."""
    own_graph, own_config = travel(InMemorySaver())
    with GatepostSaver("travel") as saver:
        graph, config = travel(saver)
        theirs, ours = shape(own_graph, own_config), shape(graph, config)
        assert ours == theirs, f"{ours}\n{theirs}"
        assert graph.get_state(config).values == own_graph.get_state(own_config).values
    # Read again by another process.
    with GatepostSaver("travel") as saver:
        graph = walk(saver)
        assert shape(graph, config) == theirs
        points = [
            {
                "id": s.config["configurable"]["checkpoint_id"],
                "values": s.values,
                "parent": s.parent_config and s.parent_config["configurable"]["checkpoint_id"],
            }
            for s in graph.get_state_history(config)
        ]
        steps = list(graph.get_state_history(config, filter={"source": "update"}))
        assert len(steps) == 2, steps
        assert len(list(graph.get_state_history(config, limit=3))) == 3
        print(json.dumps({"history": points}))


def continued() -> None:
    """The head after a person moved or edited it, and the walk from there."""
    with GatepostSaver("travel") as saver:
        graph, config = walk(saver), {"configurable": {"thread_id": "travel"}}
        now = graph.get_state(config)
        result = graph.invoke(None, config)
        parent = graph.get_state(config).config["configurable"]["checkpoint_id"]
        print(json.dumps({"values": now.values, "next": now.next, "end": result, "head": parent}))


def gather(old: list[str], writes: list[list[str]]) -> list[str]:
    """The reducer of a delta channel."""
    return [*old, *(item for write in writes for item in write)]


class Grown(TypedDict, total=False):
    """A channel of which only what is new is kept."""

    items: Annotated[list[str], DeltaChannel(gather, snapshot_frequency=4)]
    count: int


def growing(saver: Any) -> Any:
    """A graph of two parallel nodes that both add to a delta channel, ten times."""
    builder = StateGraph(Grown)
    builder.add_node("z", lambda state: {"items": [f"z{state['count']}"]})
    builder.add_node("a", lambda state: {"items": [f"a{state['count']}"]})
    builder.add_node("next", lambda state: {"count": state["count"] + 1})
    builder.add_edge(START, "z")
    builder.add_edge(START, "a")
    builder.add_edge(["z", "a"], "next")
    builder.add_conditional_edges("next", lambda s: ["z", "a"] if s["count"] < 10 else END)
    return builder.compile(checkpointer=saver)


def delta_channels() -> None:
    """The values of delta channels at each point, before and after pruning."""
    config: Any = {"configurable": {"thread_id": "delta"}, "recursion_limit": 60}
    own = growing(InMemorySaver())
    own.invoke({"count": 0, "items": ["first"]}, config, durability="sync")
    expected = [s.values for s in own.get_state_history(config)]
    with GatepostSaver("delta") as saver:
        graph = growing(saver)
        graph.invoke({"count": 0, "items": ["first"]}, config, durability="sync")
        assert [s.values for s in graph.get_state_history(config)] == expected
    with GatepostSaver("delta") as saver:
        graph = growing(saver)
        assert [s.values for s in graph.get_state_history(config)] == expected
        saver.prune(["delta"])
        left = list(saver.list(config))
        assert 1 < len(left) < 10, len(left)
    with GatepostSaver("delta") as saver:
        graph = growing(saver)
        assert graph.get_state(config).values == expected[0]
        graph.update_state(config, {"items": ["last"]}, as_node="next")
        assert graph.get_state(config).values["items"] == [*expected[0]["items"], "last"]
    print(json.dumps({"points": len(expected), "left": len(left)}))


def order_of_writes() -> None:
    """Pending writes by task path, task and index, as they were put and as they are read again."""
    config: Any = {"configurable": {"thread_id": "order", "checkpoint_ns": ""}}
    for ns in ("", "child:1"):
        with GatepostSaver("order") as saver:
            checkpoint: Any = {
                "v": 4,
                "id": str(uuid6()),
                "ts": "2026-01-01T00:00:00+00:00",
                "channel_values": {},
                "channel_versions": {},
                "versions_seen": {},
            }
            at = {"configurable": {**config["configurable"], "checkpoint_ns": ns}}
            stored = saver.put(at, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
            saver.put_writes(stored, [("x", 3), ("y", 4)], "task-1", "~b")
            saver.put_writes(stored, [("x", 9)], "task-1", "~b")  # the first one stays
            saver.put_writes(stored, [("x", 1), ("__error__", "e1")], "task-9", "~a")
            saver.put_writes(stored, [("__error__", "e2")], "task-9", "~a")  # the last one stays
            saver.put_writes(stored, [("x", 5)], "task-0", "~b")
            saver.put_writes(stored, [("x", 0)], "task-5")
            wanted = [
                ("task-5", "x", 0),
                ("task-9", "__error__", "e2"),
                ("task-9", "x", 1),
                ("task-0", "x", 5),
                ("task-1", "x", 3),
                ("task-1", "y", 4),
            ]
            assert saver.get_tuple(stored).pending_writes == wanted
        with GatepostSaver("order") as saver:
            assert saver.get_tuple(stored).pending_writes == wanted
    print(json.dumps({"writes": len(wanted)}))


def one_process() -> None:
    """Two graphs of one process that read the same checkpoint: the second is refused."""
    with GatepostSaver("twice") as saver:
        graph, config = walk(saver), {"configurable": {"thread_id": "twice"}}
        graph.invoke({"mood": "!", "places": []}, config)
        known = saver.get_tuple(config)
        graph.invoke({"mood": "?", "places": []}, config)
        other = {**known.checkpoint, "id": str(uuid6())}
        try:
            saver.put(known.config, other, {}, {})
        except Outdated as error:
            print(json.dumps({"refused": str(error)}))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
