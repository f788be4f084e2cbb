"""An agent whose effects get lost, fail, or are asked otherwise, as `world` is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from workers.authoring.errors import HandBack
from workers.authoring.graph import END, Append, Gate, Graph, State, Sum, tool
from workers.node.context import Context


class Broken(Exception):
    pass


@dataclass
class World:
    """What happened outside, and what goes wrong next."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    lose: int = 0  # so many calls are the last of their worker
    refuse: bool = False  # tools raise
    broken: bool = False  # the node raises after its effect
    skip: bool = False  # the node's first round comes to no effect

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def keys(self, name: str) -> list[str]:
        return [call[-1] for call in self.calls if call[0] == name]


world = World()


class Unsure(State):
    tool: str = "pay"
    gated: bool = False
    n: int = 1
    rounds: int = 1
    done: Annotated[int, Sum()] = 0
    notes: Annotated[list[Any], Append()] = []
    chance: list[Any] = []


def act_outside(name: str, n: int, key: str) -> str:
    world.calls.append((name, n, key))
    if world.lose:
        world.lose -= 1
        # The worker is gone in the middle of the call; its lease is given back for the test's sake.
        raise HandBack
    if world.refuse:
        raise Broken("refused")
    return f"{name} {n}"


def take_back(args: dict[str, Any], result: Any, *, key: str) -> str:
    world.calls.append(("take_back", args["n"], result, key))
    return "taken back"


@tool("pay", undo=take_back)
def pay(n: int, *, key: str) -> str:
    return act_outside("pay", n, key)


@tool("send", undo=take_back, idempotent=True)
def send(n: int, *, key: str) -> str:
    return act_outside("send", n, key)


@tool("shout")
def shout(n: int, *, key: str) -> str:
    return act_outside("shout", n, key)


@tool("mail", once=True)
def mail(n: int, *, key: str) -> str:
    return act_outside("mail", n, key)


TOOLS = {one.name: one for one in (pay, send, shout, mail)}


def look(n: int) -> str:
    world.calls.append(("look", n, ""))
    return f"saw {n}"


graph = Graph("unsure", Unsure)


@graph.node(then="act")
def prepare(state: Unsure, ctx: Context) -> dict[str, Any]:
    return {}


@graph.node(
    then=lambda state: "act" if state.done < state.rounds else END, ways=("act", END), gate=True
)
def act(state: Unsure, ctx: Context) -> dict[str, Any]:
    chance = [ctx.now().timestamp(), ctx.random(), str(ctx.uuid())]
    seen = ctx.activity(look, state.n)
    if world.skip and not state.done:
        return {"n": state.n + 1, "done": 1, "notes": [seen], "chance": chance}
    gate = Gate("Do it?") if state.gated else None
    result = ctx.effect(TOOLS[state.tool], {"n": state.n}, gate=gate).result
    if world.broken:
        raise Broken("after the effect")
    return {"n": state.n + 1, "done": 1, "notes": [seen, result], "chance": chance}
