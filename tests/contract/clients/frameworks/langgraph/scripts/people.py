"""Graphs that stop for people in each form of LangGraph; prints what they answered."""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import AfterValidator

from gatepost_client.langgraph import GatepostSaver, run, serve


class State(TypedDict, total=False):
    """What people answered."""

    answers: Annotated[list[Any], operator.add]
    goal: str


def action(name: str, amount: int, **config: bool) -> dict[str, Any]:
    """A request in Agent Inbox's form."""
    return {
        "action_request": {"action": name, "args": {"amount": amount}},
        "config": config,
        "description": f"{name} {amount}?",
    }


def one_node(ask: Callable[[], Any]) -> Any:
    """A graph that asks once."""
    builder = StateGraph(State)
    builder.add_node("ask", lambda state: {"answers": [ask()]})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder


def inbox() -> Any:
    """A list of Agent Inbox."""
    every = {f"allow_{verb}": True for verb in ("accept", "edit", "respond", "ignore")}
    return one_node(lambda: interrupt([action("pay", 5, **every)]))


def question() -> Any:
    """A text that is answered by a text."""
    return one_node(lambda: interrupt("Which colour?"))


def form() -> Any:
    """A question whose answer has a schema."""
    return one_node(lambda: interrupt({"question": "How many?"}, response_schema=int))


def even(number: int) -> int:
    """A rule that no JSON Schema says."""
    if number % 2:
        raise ValueError("an even number, please")
    return number


def invalid() -> Any:
    """Two questions at once, of which the schema of one knows more than JSON Schema does."""
    builder = StateGraph(State)
    checked = Annotated[int, AfterValidator(even)]
    builder.add_node(
        "even", lambda s: {"answers": [interrupt("An even number?", response_schema=checked)]}
    )
    builder.add_node("any", lambda s: {"answers": [interrupt("Any?", response_schema=int)]})
    builder.add_edge(START, "even")
    builder.add_edge(START, "any")
    return builder


def parallel() -> Any:
    """Two nodes that ask at once, one of them twice."""
    builder = StateGraph(State)
    builder.add_node("left", lambda s: {"answers": [["left", interrupt("Left?")]]})
    builder.add_node(
        "right", lambda s: {"answers": [["right", interrupt("Right?"), interrupt("Really?")]]}
    )
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    return builder


def nested() -> Any:
    """A subgraph of a subgraph that asks, beside a node that asks."""
    inner = one_node(lambda: ["inner", interrupt("Inner?")]).compile()
    middle = StateGraph(State)
    middle.add_node("prepare", lambda s: {"answers": ["prepared"]})
    middle.add_node("inner", lambda s: {"answers": inner.invoke({"answers": []})["answers"]})
    middle.add_edge(START, "prepare")
    middle.add_edge("prepare", "inner")
    below = middle.compile()
    builder = StateGraph(State)
    builder.add_node("middle", lambda s: {"answers": below.invoke({"answers": []})["answers"]})
    builder.add_node("beside", lambda s: {"answers": [["beside", interrupt("Beside?")]]})
    builder.add_edge(START, "middle")
    builder.add_edge(START, "beside")
    return builder


class Model(GenericFakeChatModel):
    """A model that answers with the messages of a list."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        """It needs no tools to call them."""
        return self


def agent(mode: str) -> Any:
    """An agent of LangChain whose two tool calls wait for people."""
    paid = Path(sys.argv[2]).with_suffix(".paid")

    def pay(to: str, amount: int) -> str:
        """Pay an amount."""
        with paid.open("a") as bank:
            bank.write(f"{to} {amount}\n")
        return f"paid {to} {amount}"

    calls = [
        {"name": "pay", "args": {"to": who, "amount": n}, "id": f"call-{who}", "type": "tool_call"}
        for n, who in enumerate(("ada", "bob", "cy"), start=1)
    ]
    replies = [AIMessage("", tool_calls=calls), AIMessage("done")]
    if paid.exists() or sys.argv[3:] == ["resumed"]:
        replies = replies[1:]
    guard: Any = HumanInTheLoopMiddleware(interrupt_on={"pay": True}, interrupt_mode=mode)
    return create_agent(
        Model(messages=iter(replies)),
        [pay],
        middleware=[guard],
        checkpointer=GatepostSaver("people"),
    )


CASES = {case.__name__: case for case in (inbox, question, form, invalid, parallel, nested)}

if __name__ == "__main__":
    case, name = sys.argv[1], Path(sys.argv[2]).name
    if case in ("batched", "per_call"):
        done = run(agent(case), {"messages": [("user", "pay them")]}, thread=name)
        tools = [m.content for m in done["messages"] if m.type == "tool"]
        print(json.dumps({"tools": tools, "last": done["messages"][-1].content}))
    elif case == "serve":
        with GatepostSaver("served") as saver:
            serve(inbox().compile(checkpointer=saver), once=True)
    else:
        with GatepostSaver("people") as saver:
            done = run(CASES[case]().compile(checkpointer=saver), {"goal": case}, thread=name)
            print(json.dumps(done["answers"]))
