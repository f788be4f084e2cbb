"""Graphs of LangGraph as agents; their calls leave lines in the folder of their thread."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict  # of LangGraph's own requirements

from gatepost import Gate
from gatepost.langgraph import Effect, GatepostStore, from_langgraph


def note(folder: str, name: str, text: str = "") -> None:
    """Leave a line, then wait while somebody holds this place."""
    if not folder:
        return
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {text}\n")
    while Path(folder, f"{name}.hold").exists():
        time.sleep(0.02)


# ---- parallel branches that meet, in a cycle -----------------------------------------------------


class Rounds(TypedDict, total=False):
    folder: str
    rounds: int
    lines: Annotated[list[str], operator.add]
    count: int
    ratio: float


def left(state: Rounds) -> Any:
    note(state.get("folder", ""), f"left-{state.get('count', 0)}")
    return {"lines": [f"left {state.get('count', 0)}"]}


def right(state: Rounds) -> Any:
    note(state.get("folder", ""), f"right-{state.get('count', 0)}")
    return {"lines": [f"right {state.get('count', 0)}"]}


def meet(state: Rounds) -> Any:
    return {"count": state.get("count", 0) + 1, "ratio": 2.0}


def enough(state: Rounds) -> list[str]:
    return [END] if state["count"] >= state.get("rounds", 2) else ["left", "right"]


def rounds_graph(**compiling: Any) -> Any:
    builder = StateGraph(Rounds)
    for node in (left, right, meet):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "meet")
    builder.add_conditional_edges("meet", enough, ["left", "right", END])
    return builder.compile(**compiling)


rounds = from_langgraph(rounds_graph(), name="rounds")
stopped = from_langgraph(
    rounds_graph(interrupt_before=["meet"], interrupt_after=["meet"]), name="stopped"
)


# ---- one node many times, and a Command ----------------------------------------------------------


class Spread(TypedDict, total=False):
    items: list[str]
    item: str
    names: Annotated[list[str], operator.add]
    went: str


def each(state: Spread) -> list[Send]:
    return [Send("look", {"item": item}) for item in state["items"]]


def look(state: Spread) -> Any:
    return {"names": [state["item"].upper()]}


def choose(state: Spread) -> Command[Any]:
    return Command(update={"went": "there"}, goto="there")


def there(state: Spread) -> Any:
    return {"went": f"{state['went']} and back"}


def spread_graph() -> Any:
    builder = StateGraph(Spread)
    for node in (look, choose, there):
        builder.add_node(node.__name__, node)
    builder.add_conditional_edges(START, each, ["look"])
    builder.add_edge("look", "choose")
    return builder.compile()


spread = from_langgraph(spread_graph(), name="spread")


# ---- an agent with tools and a scripted model ----------------------------------------------------


class Script(GenericFakeChatModel):
    """Says one answer after the other, by how many the conversation has already."""

    messages: Iterator[Any] = iter(())
    answers: list[AIMessage]
    pause: float = 0

    def _answer(self, messages: Any) -> AIMessage:
        return self.answers[sum(message.type == "ai" for message in messages)]

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        for word in str(answer.content).split(" ") if answer.content else ():
            time.sleep(self.pause)
            chunk = ChatGenerationChunk(message=AIMessageChunk(f"{word} "))
            if run_manager is not None:
                run_manager.on_llm_new_token(f"{word} ", chunk=chunk)
            yield chunk
        calls = [
            {
                "name": c["name"],
                "args": json.dumps(c["args"]),
                "id": c["id"],
                "index": n,
            }
            for n, c in enumerate(answer.tool_calls)
        ]
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=calls))

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def call(name: str, ident: str, **args: Any) -> Any:
    return {"name": name, "args": args, "id": ident, "type": "tool_call"}


class Shop(MessagesState, total=False):
    folder: str


@tool
def find_order(number: int, folder: Annotated[str, InjectedState("folder")]) -> str:
    """Find an order by its number."""
    note(folder, f"find-{number}")
    return f"order {number}: a kettle"


@tool
def refund(
    order: int, amount: str, folder: Annotated[str, InjectedState("folder")], config: RunnableConfig
) -> str:
    """Refund an amount in euro for an order."""
    note(folder, "refund", config["configurable"]["idempotency_key"])
    if folder:
        Path(folder, f"{order}.refund").write_text(amount)
    return f"refunded {amount}"


def take_back(args: dict[str, Any], result: Any, *, key: str) -> str:
    """The undo of a refund."""
    return f"question for {args['amount']} back"


ANSWERS = [
    AIMessage(
        "", tool_calls=[call("find_order", "1", number=1), call("find_order", "2", number=2)]
    ),
    AIMessage("", tool_calls=[call("refund", "3", order=1, amount="40.00")]),
    AIMessage("You have your money back, and I am sorry about the kettle."),
]


def shop_graph(pause: float = 0) -> Any:
    model = Script(answers=ANSWERS, pause=pause)

    def agent(state: Shop) -> Any:
        note(state["folder"], "model")
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(Shop)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([find_order, refund]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile()


REFUND = Effect(Gate("Refund the customer?", risk="high"), undo=take_back, idempotent=True)
shop = from_langgraph(shop_graph(), name="shop", effects={"refund": REFUND})
slow_shop = from_langgraph(shop_graph(0.15), name="slow-shop", effects={"refund": REFUND})


# ---- nodes, branches and tools that are only async -----------------------------------------------


@tool
async def find_late(number: int, folder: Annotated[str, InjectedState("folder")]) -> str:
    """Find an order by its number, later."""
    await asyncio.sleep(0)
    note(folder, f"find-{number}")
    return f"order {number}: a kettle"


@tool
async def refund_late(
    order: int, amount: str, folder: Annotated[str, InjectedState("folder")], config: RunnableConfig
) -> str:
    """Refund an amount in euro for an order, later."""
    await asyncio.sleep(0)
    note(folder, "refund", config["configurable"]["idempotency_key"])
    Path(folder, f"{order}.refund").write_text(amount)
    return f"refunded {amount}"


LATE = [
    AIMessage("", tool_calls=[call("find_late", "1", number=1), call("find_late", "2", number=2)]),
    AIMessage("", tool_calls=[call("refund_late", "3", order=1, amount="40.00")]),
    AIMessage("You have your money back."),
]


def late_graph() -> Any:
    model = Script(answers=LATE)

    async def agent(state: Shop) -> Any:
        note(state["folder"], "model")
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def greet(state: Shop) -> Any:
        return {"messages": [AIMessage(f"Bye, {interrupt('Who is it?')}.")]}

    async def chosen(state: Shop) -> str:
        return "tools" if state["messages"][-1].tool_calls else "greet"

    builder = StateGraph(Shop)
    builder.add_node("agent", agent)
    builder.add_node("greet", greet)
    builder.add_node("tools", ToolNode([find_late, refund_late]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", chosen, ["tools", "greet"])
    builder.add_edge("tools", "agent")
    return builder.compile()


late = from_langgraph(late_graph(), name="late", effects={"refund_late": REFUND})


# ---- interrupts ----------------------------------------------------------------------------------


class Trip(TypedDict, total=False):
    folder: str
    city: str
    answers: Annotated[list[str], operator.add]


def draft(state: Trip) -> Any:
    note(state.get("folder", ""), "draft")
    return {"city": state.get("city", "Oslo")}


def review(state: Trip) -> Any:
    first = interrupt(f"Is {state['city']} right?")
    second = interrupt("When?")
    return {"answers": [f"{first} {second}"]}


def budget(state: Trip) -> Any:
    amount = interrupt(
        {"question": "How much?"},
        response_schema={"type": "integer", "minimum": 1},
    )
    return {"answers": [f"{amount} euro"]}


def pack(state: Trip) -> Any:
    return {"answers": ["packed"]}


def trip_graph() -> Any:
    inner = StateGraph(Trip)
    inner.add_node("draft", draft)
    inner.add_node("review", review)
    inner.add_edge(START, "draft")
    inner.add_edge("draft", "review")
    planned = inner.compile()

    def plan(state: Trip) -> Any:
        result = planned.invoke({k: v for k, v in state.items() if k != "answers"})
        return {"answers": result["answers"]}

    builder = StateGraph(Trip)
    builder.add_node("plan", plan)
    builder.add_node("budget", budget)
    builder.add_node("pack", pack)
    builder.add_edge(START, "plan")
    builder.add_edge(START, "budget")
    builder.add_edge(["plan", "budget"], "pack")
    return builder.compile()


trip = from_langgraph(trip_graph(), name="trip")


class Question(TypedDict, total=False):
    value: Any
    schema_of_answer: Any
    answer: Any


def ask(state: Question) -> Any:
    return {"answer": interrupt(state["value"], response_schema=state.get("schema_of_answer"))}


def question_graph() -> Any:
    builder = StateGraph(Question)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile()


question = from_langgraph(question_graph(), name="question")


@tool
def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}: {text}"


MAILS = [
    AIMessage("", tool_calls=[call("send_mail", "1", to="Ada", text="Hi")]),
    AIMessage("It is done."),
]
careful = from_langgraph(
    create_agent(
        Script(answers=MAILS),
        [send_mail],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})],
    ),
    name="careful",
)


# ---- a store on memory ---------------------------------------------------------------------------


class Counted(TypedDict, total=False):
    folder: str
    read: int
    matches: list[str]


def count(state: Counted, runtime: Runtime[Any]) -> Counted:
    store = runtime.store
    assert store is not None
    one = store.get(("counts",), "n")
    matches = [item.value["text"] for item in store.search(("words",), query="quokka")]
    note(state.get("folder", ""), "read")
    number = 0 if one is None else one.value["n"]
    store.put(("counts",), "n", {"n": number + 1})
    return {"read": number, "matches": matches}


def counting_graph() -> Any:
    builder = StateGraph(Counted)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    return builder.compile(store=GatepostStore(scopes={"words": "workspace"}))


counting = from_langgraph(counting_graph(), name="counting")
