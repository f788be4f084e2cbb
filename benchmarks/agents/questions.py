"""`bench-asking` and `bench-acting`: stop for a person, then say at what time they go on."""

from __future__ import annotations

import time

from benchmarks import handicap
from gatepost import END, Context, Gate, Graph, State, tool

handicap.install()


def clock() -> float:
    """Seconds since 1970 by the clock that the database on this machine reads as well.

    A query here would be refused: node code asks a database in an activity only.
    """
    return time.time()


class Asking(State):
    """When each line was reached."""

    began: float = 0.0
    continued_at: float = 0.0


asking = Graph("bench-asking", Asking, version=1)


@asking.node(then="ask")
def begin(state: Asking, ctx: Context) -> dict[str, object]:
    """The first line of the first node."""
    return {"began": clock()}


@asking.node(then=END, gate=True)
def ask(state: Asking, ctx: Context) -> dict[str, object]:
    """A question; the line after it is the next line."""
    ctx.ask("Go on?")
    return {"continued_at": clock()}


class Acting(State):
    """When the effect was reached."""

    continued_at: float = 0.0


acting = Graph("bench-acting", Acting, version=1)


@tool("bench_note", idempotent=True)
def note(*, key: str) -> float:
    """The first line of what was approved."""
    return clock()


@acting.node(then=END, gate=True)
def act(state: Acting, ctx: Context) -> dict[str, object]:
    """A gate before an effect."""
    done = ctx.effect(note, {}, gate=Gate("Note the time"))
    return {"continued_at": float(done.result)}
