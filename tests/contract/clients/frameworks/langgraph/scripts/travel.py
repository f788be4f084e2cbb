"""Replay, fork and update_state of graphs with subgraphs, beside LangGraph's own saver.

Each combination of a way back, a kind of subgraph and a kind of call gives the same log; the last
line says how many there were.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from gatepost_client.langgraph import AsyncGatepostSaver, GatepostSaver

WAYS = ("replay", "replay from within", "update", "update as a node", "fork twice")
KEEPS = (None, True, False)  # whose checkpoints a subgraph keeps


class Log(TypedDict, total=False):
    """What ran, in its order."""

    log: Annotated[list[str], operator.add]


def graph(saver: Any, keeps: bool | None, depth: int) -> Any:
    """A graph whose second node is a graph with an interrupt, `depth` levels down."""
    inner = StateGraph(Log)
    inner.add_node("ask", lambda _: {"log": ["in:" + str(interrupt("inner?"))]})
    inner.add_node("after", lambda _: {"log": ["in2"]})
    inner.add_edge(START, "ask")
    inner.add_edge("ask", "after")
    child = inner.compile(checkpointer=keeps)
    for level in range(depth - 1):
        middle = StateGraph(Log)
        middle.add_node(f"level{level}", child)
        middle.add_edge(START, f"level{level}")
        child = middle.compile(checkpointer=keeps)
    outer = StateGraph(Log)
    outer.add_node("pre", lambda _: {"log": ["pre"]})
    outer.add_node("child", child)
    outer.add_node("post", lambda _: {"log": ["post"]})
    for one, other in itertools.pairwise([START, "pre", "child", "post", END]):
        outer.add_edge(one, other)
    return outer.compile(checkpointer=saver)


class Calls:
    """The calls of one graph, awaited or not."""

    def __init__(self, graph: Any, awaited: bool) -> None:
        self.graph, self.awaited = graph, awaited

    async def __call__(self, name: str, *args: Any, **named: Any) -> Any:
        """Call by LangGraph's name; an iterator comes back as a list."""
        result = getattr(self.graph, f"a{name}" if self.awaited else name)(*args, **named)
        if inspect.isawaitable(result):
            return await result
        if hasattr(result, "__aiter__"):
            return [item async for item in result]
        return result if isinstance(result, dict) else list(result)


async def travel(
    saver: Any, route: str, keeps: bool | None, depth: int, awaited: bool
) -> list[Any]:
    """What a thread's log holds after each call."""
    call = Calls(graph(saver, keeps, depth), awaited)
    config = {"configurable": {"thread_id": f"{route} {keeps} {depth} {awaited}"}}
    logs: list[Any] = []

    async def run(value: Any, at: Any) -> None:
        result = await call("invoke", value, at)
        logs.append([result["log"], len(result.get("__interrupt__", ()))])

    async def past(node: str) -> Any:
        history = await call("get_state_history", config)
        return next(one.config for one in history if one.next == (node,))

    await run({"log": []}, config)
    await run(Command(resume="x"), config)
    if route == "replay":
        await run(None, await past("child"))
    elif route == "replay from within":
        at = await past("child")
        await run(Command(resume="z"), at)
    elif route == "update":
        await run(None, await call("update_state", await past("child"), {"log": ["mended"]}))
    elif route == "update as a node":
        named = {"as_node": "pre"}
        at = await call("update_state", await past("pre"), {"log": ["instead"]}, **named)
        await run(None, at)
    else:
        for word in ("one", "two"):
            await run(None, await call("update_state", await past("child"), {"log": [word]}))
    await run(Command(resume="y"), config)
    history = await call("get_state_history", config)
    logs.append([[one.next, one.values.get("log")] for one in history])
    return logs


def outcome(saver: Any, *case: Any) -> Any:
    """The logs of a case, or the kind of its error: LangGraph refuses some."""
    try:
        return asyncio.run(travel(saver, *case))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def awaited(*case: Any) -> Any:
    """The same with the saver that is awaited."""
    async with AsyncGatepostSaver("travel-awaited") as saver:
        return await travel(saver, *case)


SAME = 0
CASES = [*itertools.product(WAYS, KEEPS, (1, 2))]
with GatepostSaver("travel") as ours:
    for case in CASES:
        plain = outcome(InMemorySaver(), *case, False)
        mine = outcome(ours, *case, False)
        assert mine == plain, (case, mine, plain)
        assert case[1] is False or isinstance(plain, list), (case, plain)
        SAME += 1
for case in CASES:
    plain = outcome(InMemorySaver(), *case, True)
    try:
        mine = asyncio.run(awaited(*case, True))
    except Exception as error:
        mine = f"{type(error).__name__}: {error}"
    assert mine == plain, (case, mine, plain)
    SAME += 1
print(json.dumps({"same": SAME}))
