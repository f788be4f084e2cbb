"""An agent that stops for people in the form of Agent Inbox."""

from __future__ import annotations

from typing import Any

from workers.authoring.errors import Rejected
from workers.authoring.graph import END, Graph, State
from workers.node.context import Context

ALL = dict.fromkeys(("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), True)


class Mail(State):
    requests: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    outcome: str = ""


graph = Graph("mails", Mail)


def asking(args: Any = None, **flags: bool) -> dict[str, Any]:
    """A request in that form; without flags everything is allowed."""
    return {
        "action_request": {"action": "send_mail", "args": args or {"to": "ada", "copies": 1}},
        "config": flags or ALL,
        "description": "Send this mail?\nIt is about the bill.",
    }


@graph.node(then=END)
def write(state: Mail, ctx: Context) -> dict[str, Any]:
    values = [dict(r) for r in state.requests]
    try:
        answers = ctx.interrupt(values if len(values) > 1 else values[0])
    except Rejected as no:
        return {"outcome": f"no: {no.comment}"}
    return {"answers": answers}
