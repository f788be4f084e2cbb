"""A graph whose messages grow by one in each of so many steps."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from gatepost_client.langgraph import GatepostSaver

STEPS, THREAD = int(sys.argv[1]), sys.argv[2]


class State(TypedDict):
    """Messages, and how many."""

    messages: Annotated[list[AnyMessage], add_messages]
    count: int


def work(state: State) -> dict[str, Any]:
    """Add a message of 300 characters."""
    number = state["count"] + 1
    return {"messages": [AIMessage(f"{number:04} " + "x" * 295, id=str(number))], "count": number}


builder = StateGraph(State)
builder.add_node(work)
builder.add_edge(START, "work")
builder.add_conditional_edges("work", lambda state: "work" if state["count"] < STEPS else END)
with GatepostSaver("growing") as saver:
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": THREAD}, "recursion_limit": STEPS + 5}
    result = graph.invoke({"messages": [], "count": 0}, config)
    print(json.dumps({"messages": len(result["messages"])}))
