"""What LangGraph sees of a thread that `delete_thread` was called for: `deletion.py ACT THREAD`."""

from __future__ import annotations

import json
import sys
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from gatepost_client.langgraph import GatepostSaver


class State(TypedDict, total=False):
    """One channel."""

    text: str
    seen: str


def seen(saver: Any, config: Any) -> dict[str, Any]:
    """What the saver gives of the thread."""
    newest = saver.get_tuple(config)
    return {
        "listed": len(list(saver.list(config))),
        "newest": None if newest is None else newest.checkpoint["channel_values"].get("text"),
    }


def main() -> None:
    """Perform one act, then say what is seen."""
    act, name = sys.argv[1:]
    config: Any = {"configurable": {"thread_id": name}}
    builder = StateGraph(State)
    builder.add_node("look", lambda state: {"seen": state["text"].upper()})
    builder.add_edge(START, "look")
    builder.add_edge("look", END)
    with GatepostSaver("deleting") as saver:
        graph = builder.compile(checkpointer=saver)
        if act == "invoke":
            graph.invoke({"text": "the name of a person"}, config)
        elif act == "delete":
            saver.delete_thread(name)
        elif act == "again":
            graph.invoke({"text": "anew"}, config)
        print(json.dumps(seen(saver, config)))


if __name__ == "__main__":
    main()
