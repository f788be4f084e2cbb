"""Patterns of LangGraph's documentation: the same final values on a worker as in LangGraph.

Each pattern makes a graph, its input, and the answers to its interrupts by their question.
"""

from __future__ import annotations

import asyncio
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.managed.is_last_step import RemainingSteps
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, Overwrite, RetryPolicy, Send, interrupt
from pydantic import BaseModel

from gatepost import GraphError, Harness, Respond
from gatepost.langgraph import from_langgraph
from gatepost_client.langgraph import JsonSerializer

Answers = Mapping[str, Any]
Pattern = tuple[Any, dict[str, Any], Answers]
PATTERNS: dict[str, Callable[[], Pattern]] = {}


def pattern(make: Callable[[], Pattern]) -> Callable[[], Pattern]:
    """List a pattern under its name."""
    PATTERNS[make.__name__] = make
    return make


class Log(TypedDict, total=False):
    """Notes that only grow, and values that are replaced."""

    log: Annotated[list[Any], operator.add]
    topic: str
    n: int
    any: Any


def chain(builder: StateGraph[Any], *names: str) -> Any:
    """The compiled graph, with the nodes one after the other."""
    for one, other in zip((START, *names), (*names, END), strict=True):
        builder.add_edge(one, other)
    return builder.compile()


def note(*notes: Any) -> Callable[[Any], Any]:
    """A node that adds notes."""
    return lambda _: {"log": list(notes)}


@pattern
def prompt_chaining() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("joke", lambda s: {"log": [f"joke on {s['topic']}"]})
    builder.add_node("improve", lambda s: {"log": [s["log"][-1] + ", improved"]})
    return chain(builder, "joke", "improve"), {"topic": "cats"}, {}


@pattern
def parallelization_with_an_aggregator() -> Pattern:
    builder = StateGraph(Log)
    for name in ("joke", "story", "poem"):
        builder.add_node(name, note(name))
        builder.add_edge(START, name)
    builder.add_node("all", lambda s: {"topic": "+".join(s["log"])})
    builder.add_edge(["joke", "story", "poem"], "all")
    return builder.compile(), {"topic": "x"}, {}


@pattern
def routing() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("router", lambda s: {"n": len(s["topic"])})
    for name in ("short", "long"):
        builder.add_node(name, note(name))
        builder.add_edge(name, END)
    builder.add_edge(START, "router")
    builder.add_conditional_edges("router", lambda s: s["n"] > 3, {True: "long", False: "short"})
    return builder.compile(), {"topic": "cats"}, {}


class Named(TypedDict, total=False):
    topic: str
    plan: list[str]
    write: str


@pattern
def channels_named_like_nodes() -> Pattern:
    builder = StateGraph(Named)
    builder.add_node("plan", lambda s: {"plan": [*s["plan"], s["topic"]]})
    builder.add_node("write", lambda s: {"write": f"wrote {s.get('plan')}"})
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "write")
    builder.add_edge("write", END)
    return builder.compile(), {"topic": "tea", "plan": ["milk"]}, {}


@pattern
def orchestrator_with_workers() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("plan", lambda s: {"any": ["a", "b", "c"]})
    builder.add_node("write", lambda s: {"log": [f"section {s['section']}"]})
    builder.add_node("join", lambda s: {"topic": "\n".join(sorted(s["log"]))})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda s: [Send("write", {"section": one}) for one in s["any"]], ["write"]
    )
    builder.add_edge("write", "join")
    return builder.compile(), {"topic": "t"}, {}


@pattern
def evaluator_and_optimizer() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("make", lambda s: {"n": s.get("n", 0) + 1, "log": [f"try {s.get('n', 0)}"]})
    builder.add_node("judge", lambda s: {"topic": "good" if s["n"] > 2 else "bad"})
    builder.add_edge(START, "make")
    builder.add_edge("make", "judge")
    builder.add_conditional_edges(
        "judge", lambda s: END if s["topic"] == "good" else "make", ["make", END]
    )
    return builder.compile(), {"topic": ""}, {}


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@pattern
def agent_with_tools() -> Pattern:
    def model(state: Any) -> Any:
        done = [m for m in state["messages"] if m.type == "tool"]
        call = {"name": "multiply", "args": {"a": 3, "b": 4}, "id": "c1", "type": "tool_call"}
        answer = (
            AIMessage(f"It is {done[-1].content}.", id="last")
            if done
            else AIMessage("", tool_calls=[call], id="first")
        )
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([multiply]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(), {"messages": [HumanMessage("3 times 4?", id="q")]}, {}


@pattern
def messages_removed() -> Pattern:
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda s: {"messages": [AIMessage(x, id=x) for x in "abc"]})
    builder.add_node("drop", lambda s: {"messages": [RemoveMessage(id="a")]})
    return chain(builder, "say", "drop"), {"messages": [HumanMessage("hi", id="h")]}, {}


@pattern
def messages_all_removed() -> Pattern:
    builder = StateGraph(MessagesState)
    summary = [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("summary", id="s")]
    builder.add_node("drop", lambda s: {"messages": summary})
    return chain(builder, "drop"), {"messages": [HumanMessage("hi", id="h")]}, {}


@pattern
def command_goto_and_update() -> Pattern:
    def choose(state: Log) -> Command[Literal["left", "right"]]:
        return Command(goto="left" if state["n"] else "right", update={"log": ["chose"]})

    builder = StateGraph(Log)
    builder.add_node("choose", choose)
    builder.add_node("left", note("left"))
    builder.add_node("right", note("right"))
    builder.add_edge(START, "choose")
    return builder.compile(), {"n": 0}, {}


@pattern
def command_to_the_parent() -> Pattern:
    inner = StateGraph(Log)
    to_parent = Command(graph=Command.PARENT, goto="after", update={"log": ["from inside"]})
    inner.add_node("leave", lambda _: to_parent)
    inner.add_edge(START, "leave")
    builder = StateGraph(Log)
    builder.add_node("inside", inner.compile())
    builder.add_node("after", note("after"))
    builder.add_edge(START, "inside")
    return builder.compile(), {"log": ["begin"]}, {}


@pattern
def subgraph_that_shares_the_state() -> Pattern:
    inner = StateGraph(Log)
    inner.add_node("one", note("one"))
    inner.add_node("two", lambda s: {"log": ["two"], "topic": str(len(s["log"]))})
    builder = StateGraph(Log)
    builder.add_node("inside", chain(inner, "one", "two"))
    builder.add_node("after", note("after"))
    return chain(builder, "inside", "after"), {"log": []}, {}


class Other(TypedDict):
    """The state of a subgraph that has nothing in common with its parent's."""

    word: str


@pattern
def subgraph_called_in_a_node() -> Pattern:
    inner = StateGraph(Other)
    inner.add_node("shout", lambda s: {"word": s["word"].upper()})
    child = chain(inner, "shout")
    builder = StateGraph(Log)
    builder.add_node("call", lambda s: {"topic": child.invoke({"word": s["topic"]})["word"]})
    return chain(builder, "call"), {"topic": "cats"}, {}


@pattern
def subgraphs_two_levels_deep() -> Pattern:
    low = StateGraph(Log)
    low.add_node("low", note("low"))
    middle = StateGraph(Log)
    middle.add_node("middle", chain(low, "low"))
    builder = StateGraph(Log)
    builder.add_node("top", chain(middle, "middle"))
    builder.add_node("end", lambda s: {"n": len(s["log"])})
    return chain(builder, "top", "end"), {"log": []}, {}


class Narrow(TypedDict):
    """What a graph takes."""

    topic: str


class Output(TypedDict):
    """What a graph gives."""

    n: int


class Private(TypedDict):
    """What only two nodes know."""

    secret: str


@pattern
def schemas_of_input_output_and_between_nodes() -> Pattern:
    def first(state: Narrow) -> Private:
        return {"secret": state["topic"] * 2}

    def second(state: Private) -> Output:
        return {"n": len(state["secret"])}

    builder = StateGraph(Log, input_schema=Narrow, output_schema=Output)
    builder.add_node("first", first)
    builder.add_node("second", second)
    return chain(builder, "first", "second"), {"topic": "abc"}, {}


@pattern
def deferred_node() -> Pattern:
    builder = StateGraph(Log)
    for name in ("a", "b", "b2", "c"):
        builder.add_node(name, note(name))
    builder.add_node("d", lambda s: {"topic": "".join(s["log"])}, defer=True)
    builder.add_edge(START, "a")
    for one, other in (("a", "b"), ("a", "c"), ("b", "b2"), ("b2", "d"), ("c", "d")):
        builder.add_edge(one, other)
    return builder.compile(), {"log": []}, {}


@pattern
def loop_with_remaining_steps() -> Pattern:
    class Walk(Log):
        left: RemainingSteps

    builder = StateGraph(Walk)
    builder.add_node("walk", lambda s: {"log": ["x"]})
    builder.add_edge(START, "walk")
    builder.add_conditional_edges(
        "walk", lambda s: END if len(s["log"]) > 3 or s["left"] < 2 else "walk", ["walk", END]
    )
    return builder.compile(), {"log": []}, {}


@pattern
def overwritten_reducer() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("add", note("a", "b"))
    builder.add_node("reset", lambda s: {"log": Overwrite(["only"])})
    return chain(builder, "add", "reset"), {"log": ["0"]}, {}


@pattern
def retry_policy() -> Pattern:
    tries: list[int] = []

    def flaky(state: Log) -> Any:
        tries.append(1)
        if len(tries) % 2:
            raise ConnectionError("again")
        return {"log": ["held"]}

    builder = StateGraph(Log)
    policy = RetryPolicy(initial_interval=0.01, max_attempts=5)
    builder.add_node("flaky", flaky, retry_policy=policy)
    return chain(builder, "flaky"), {"log": []}, {}


@pattern
def cache_policy() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("same", lambda s: {"n": s["n"] * 2}, cache_policy=CachePolicy(ttl=60))
    builder.add_edge(START, "same")
    return builder.compile(cache=InMemoryCache()), {"n": 4}, {}


@pattern
def runtime_and_stream_writer() -> Pattern:
    def look(state: Log, runtime: Runtime[Any]) -> Any:
        get_stream_writer()({"progress": 1})
        runtime.stream_writer({"progress": 2})
        return {"log": [type(runtime.context).__name__]}

    builder = StateGraph(Log)
    builder.add_node("look", look)
    return chain(builder, "look"), {"log": []}, {}


@pattern
def nodes_that_are_async() -> Pattern:
    async def look(state: Log) -> Any:
        return {"log": ["awaited"]}

    builder = StateGraph(Log)
    builder.add_node("look", look)
    builder.add_node("after", note("after"))
    return chain(builder, "look", "after"), {"log": []}, {}


@pattern
def approve_or_reject() -> Pattern:
    def ask(state: Log) -> Command[Literal["go", "stop"]]:
        return Command(goto="go" if interrupt("Go on?") == "yes" else "stop")

    builder = StateGraph(Log)
    builder.add_node("ask", ask)
    builder.add_node("go", note("went"))
    builder.add_node("stop", note("stopped"))
    builder.add_edge(START, "ask")
    return builder.compile(), {"log": []}, {"Go on?": "yes"}


@pattern
def several_interrupts_of_one_node() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("ask", lambda s: {"log": [interrupt("Name?"), interrupt("Age?")]})
    return chain(builder, "ask"), {"log": []}, {"Name?": "Ada", "Age?": 36}


@pattern
def interrupts_of_parallel_nodes() -> Pattern:
    builder = StateGraph(Log)
    for name in ("a", "b"):
        builder.add_node(name, lambda s, name=name: {"log": [interrupt(f"{name}?")]})
        builder.add_edge(START, name)
    return builder.compile(), {"log": []}, {"a?": 1, "b?": 2}


@pattern
def interrupt_in_a_subgraph() -> Pattern:
    inner = StateGraph(Log)
    inner.add_node("before", note("before"))
    inner.add_node("ask", lambda s: {"log": [interrupt("Which?")]})
    builder = StateGraph(Log)
    builder.add_node("inside", chain(inner, "before", "ask"))
    builder.add_node("after", note("after"))
    return chain(builder, "inside", "after"), {"log": []}, {"Which?": "this"}


@pattern
def interrupts_of_sends() -> Pattern:
    builder = StateGraph(Log)
    builder.add_node("each", lambda s: {"log": [interrupt(f"Take {s['item']}?")]})
    builder.add_conditional_edges(
        START, lambda s: [Send("each", {"item": n}) for n in (1, 2)], ["each"]
    )
    return builder.compile(), {"log": []}, {"Take 1?": "yes", "Take 2?": "no"}


@pattern
def validation_of_an_answer_in_a_loop() -> Pattern:
    def ask(state: Log) -> Any:
        question, n = "A number?", 0
        while not isinstance(answer := interrupt(question), int):
            question, n = f"{answer} is not a number.", n + 1
        return {"n": answer, "log": [n]}

    builder = StateGraph(Log)
    builder.add_node("ask", ask)
    return chain(builder, "ask"), {"log": []}, {"A number?": "ten", "ten is not a number.": 10}


class Model(BaseModel):
    """A state that is a pydantic model."""

    topic: str = ""
    log: Annotated[list[str], operator.add] = []


@pattern
def pydantic_state() -> Pattern:
    builder = StateGraph(Model)
    builder.add_node("look", lambda s: {"log": [s.topic.upper()]})
    return chain(builder, "look"), {"topic": "cats"}, {}


@dataclass
class Data:
    """A state that is a dataclass."""

    topic: str = ""
    log: Annotated[list[str], operator.add] = field(default_factory=list)


@pattern
def dataclass_state() -> Pattern:
    builder = StateGraph(Data)
    builder.add_node("look", lambda s: {"log": [s.topic.upper()]})
    return chain(builder, "look"), {"topic": "cats"}, {}


@pattern
def values_that_json_lacks() -> Pattern:
    values = [{1: "a", (1, 2): {3}}, Path("/a"), re.compile("x+"), b"\0", float("inf"), "\0"]
    builder = StateGraph(Log)
    builder.add_node("keep", lambda s: {"any": values})
    builder.add_node("read", lambda s: {"log": [s["any"][0][1], s["any"][1].name]})
    return chain(builder, "keep", "read"), {"log": []}, {}


def plain(name: str) -> Any:
    """The final values that LangGraph gives itself."""
    graph, start, answers = PATTERNS[name]()
    compiled = graph.copy({"checkpointer": InMemorySaver()})
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 25}
    current: Any = start
    asynchronous = name == "nodes_that_are_async"
    for _ in range(10):
        if asynchronous:
            result = asyncio.run(compiled.ainvoke(current, config))
        else:
            result = compiled.invoke(current, config)
        open_interrupts = result.get("__interrupt__") if isinstance(result, dict) else None
        if not open_interrupts:
            return compiled.get_state(config).values
        current = Command(resume={one.id: answers[one.value] for one in open_interrupts})
    raise AssertionError("it goes on asking")


def _without_chance(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same without the random ids of what tools returned."""
    messages = [
        one.model_copy(update={"id": ""}) if one.type == "tool" else one
        for one in values.get("messages", ())
    ]
    return {**values, "messages": messages}


@pytest.mark.requirement("F04")
@pytest.mark.parametrize("name", PATTERNS)
def test_the_final_values_are_those_of_langgraph(name: str) -> None:
    expected = plain(name)
    graph, start, answers = PATTERNS[name]()
    serde = JsonSerializer()
    agent = from_langgraph(graph, name=name, recursion_limit=25)
    thread = Harness(agent).play({key: serde.encode(value) for key, value in start.items()})
    while thread.status == "waiting":
        (request, *_) = thread.open
        thread.decide(Respond(answers[request.title]), request.title)
    assert thread.status == "succeeded", thread
    values = {key: serde.decode(value) for key, value in thread.state.items() if key in expected}
    assert _without_chance(values) == _without_chance(expected)


def test_a_store_that_a_worker_would_forget_is_refused() -> None:
    builder = StateGraph(Log)
    builder.add_node("look", note("x"))
    builder.add_edge(START, "look")
    with pytest.raises(GraphError, match="which a worker forgets"):
        from_langgraph(builder.compile(store=InMemoryStore()), name="x")
