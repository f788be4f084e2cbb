"""A graph whose threads are found by its channels, and one with a value that nobody can write."""

from __future__ import annotations

import json
from datetime import date
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from gatepost_client.langgraph import GatepostSaver
from gatepost_client.wire.errors import InvalidValue


class State(TypedDict, total=False):
    """A customer, tags that grow, a day."""

    customer: str
    tags: Annotated[list[str], add]
    day: Any


def work(state: State) -> dict[str, Any]:
    """Add a tag."""
    return {"tags": ["second"], "customer": state["customer"].upper()}


builder = StateGraph(State)
builder.add_node(work)
builder.add_edge(START, "work")
builder.add_edge("work", END)
with GatepostSaver("searched", searchable=["customer", "tags", "day"]) as saver:
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "plain"}}
    graph.invoke({"customer": "acme", "tags": ["first"]}, config)
    refused = ""
    try:
        config = {"configurable": {"thread_id": "refused"}}
        graph.invoke({"customer": "acme", "tags": [], "day": date(2026, 11, 27)}, config)
    except InvalidValue as error:
        refused = str(error)
    print(json.dumps({"refused": refused}))
