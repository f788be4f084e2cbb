"""An agent that does a bit of everything once; `calls` counts what was really called."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context

calls: list[str] = []


class Trip(State):
    to: str = "Bergen"
    days: int = 2
    notes: Annotated[list[str], Append()] = []
    weather: str = ""
    outcome: str = ""


def look_up(to: str, day: int) -> str:
    calls.append("look_up")
    return f"{to} {day}: rain"


def forecast(to: str) -> str:
    calls.append("forecast")
    raise ValueError(f"no forecast for {to}")


@tool("trip.book", idempotent=True)
def book(to: str, days: int, *, key: str) -> dict[str, Any]:
    """Book a room."""
    calls.append("book")
    return {"room": 7, "to": to, "key": key}


def answer(request: Request, /) -> Reply:
    calls.append("model")
    return Reply(f"Take an umbrella: {len(request.text)}", model="m", tokens_in=3, cost="0.01")


graph = Graph("taped", Trip, model=answer)


@graph.node(then="plan")
def gather(state: Trip, ctx: Context) -> dict[str, Any]:
    notes = [ctx.activity(look_up, state.to, day) for day in range(state.days)]
    try:
        ctx.activity(forecast, state.to)
    except ValueError as error:
        notes.append(str(error))
    return {"notes": notes}


@graph.node(then="go")
def plan(state: Trip, ctx: Context) -> dict[str, Any]:
    at = ctx.now()
    text = ctx.model("What to pack?", state.notes, temperature=0.0)
    return {"weather": text, "notes": [at.isoformat(), str(ctx.uuid()), str(ctx.random())]}


@graph.node(then=END, gate=True)
def go(state: Trip, ctx: Context) -> dict[str, Any]:
    where = ctx.ask("Which station?", schema={"type": "string"}).value
    done = ctx.effect(book, {"to": state.to, "days": state.days}, gate=Gate(f"Book {state.to}"))
    return {"outcome": f"{done.result['room']} in {done.args['to']} from {where} {done.comment}"}


TOOLS = {book.name: book}
