"""An agent whose author records what it does outside as activities."""

from __future__ import annotations

from typing import Any

from workers.authoring.errors import Expired, Rejected
from workers.authoring.graph import END, Graph, State
from workers.node.context import Context, progress


class Letter(State):
    to: str = "ada@example.org"
    text: str = "hello"
    places: bool = False  # call a function that does not name its arguments
    outcome: str = ""


graph = Graph("disguised", Letter)
sent: list[Any] = []
failures: list[int] = [0]


def send_mail(to: str, text: str = "") -> str:
    """Send it, which the author calls an activity."""
    if failures[0]:
        failures[0] -= 1
        raise ConnectionError("the server is away")
    progress(1, 1, cursor={"sent": 1})
    sent.append((to, text))
    return f"sent to {to}"


def send_all(*letters: str) -> str:
    """Send letters; its arguments have no names."""
    sent.append(letters)
    return f"sent {len(letters)}"


def look_up(to: str) -> str:
    """Read an address."""
    return to.lower()


@graph.node(then=END)
def write(state: Letter, ctx: Context) -> dict[str, Any]:
    to = ctx.activity(look_up, state.to)
    try:
        if state.places:
            outcome = ctx.activity(send_all, to, state.text)
        else:
            outcome = ctx.activity(send_mail, to, text=state.text)
    except Rejected as no:
        outcome = f"no: {no.comment}"
    except Expired:
        outcome = "nobody"
    return {"outcome": outcome}
