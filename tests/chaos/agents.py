"""The agent of the chaos: twelve short steps, a gate, two effects at a bank outside."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Annotated, Any

from tests.chaos import tasks
from workers.context import Context
from workers.errors import Rejected
from workers.graph import END, Append, Gate, Graph, State, Sum, Way, tool

WORK_SECONDS = 0.01  # long enough that a kill can fall into it


class Chaos(State):
    """`sums` grows by one each turn; receipts are the bank's."""

    task: int
    bank: str
    at: Annotated[int, Sum()] = 0
    sums: Annotated[list[int], Append()] = []
    reserved: str = ""
    outcome: str = ""
    receipt: str = ""
    closed: int = 0


def ask_bank(bank: str, task: int, what: str, amount: int, key: str) -> str:
    """Tell the bank to do something; it answers a key again that it knows."""
    body = json.dumps({"key": key, "task": task, "what": what, "amount": amount}).encode()
    with urllib.request.urlopen(urllib.request.Request(bank, body), timeout=30) as answer:
        return str(json.load(answer)["receipt"])


def cancel_reservation(args: dict[str, Any], result: Any, *, key: str) -> str:
    return ask_bank(args["bank"], args["task"], "cancel", args["amount"], key)


@tool("chaos_reserve", undo=cancel_reservation, idempotent=True)
def reserve_amount(bank: str, task: int, amount: int, *, key: str) -> str:
    """Reserve an amount."""
    return ask_bank(bank, task, "reserve", amount, key)


@tool("chaos_pay", idempotent=True)
def pay_amount(bank: str, task: int, amount: int, *, key: str) -> str:
    """Pay what was reserved."""
    return ask_bank(bank, task, "pay", amount, key)


@tool("chaos_release", idempotent=True)
def release_amount(bank: str, task: int, amount: int, *, key: str) -> str:
    """Give back what was reserved."""
    return ask_bank(bank, task, "release", amount, key)


def reckon(task: int, turn: int) -> int:
    time.sleep(WORK_SECONDS)
    return tasks.reckoned(task, turn)


def add_up(sums: list[int]) -> int:
    return sum(sums) % 997


chaos = Graph(tasks.AGENT, Chaos, version=1)


@chaos.node(then="turn")
def begin(state: Chaos, ctx: Context) -> dict[str, Any]:
    ctx.think(f"Task {state.task} takes {tasks.TURNS} turns")
    return {}


def further(state: Chaos) -> Way:
    left = tasks.TURNS - state.at
    return Way("turn" if left else "reserve", f"{left} turns left")


@chaos.node(then=further, ways=("turn", "reserve"))
def turn(state: Chaos, ctx: Context) -> dict[str, Any]:
    return {"sums": [ctx.activity(reckon, state.task, state.at + 1)], "at": 1}


def at_bank(state: Chaos) -> dict[str, Any]:
    return {"bank": state.bank, "task": state.task, "amount": tasks.amount(state.task)}


@chaos.node(then="pay")
def reserve(state: Chaos, ctx: Context) -> dict[str, Any]:
    return {"reserved": ctx.effect(reserve_amount, at_bank(state)).result}


@chaos.node(then="close", gate=True)
def pay(state: Chaos, ctx: Context) -> dict[str, Any]:
    try:
        done = ctx.effect(pay_amount, at_bank(state), gate=Gate(f"Pay task {state.task}?"))
    except Rejected:
        return {"outcome": "kept"}
    return {"outcome": "paid", "receipt": done.result}


@chaos.node(then=END)
def close(state: Chaos, ctx: Context) -> dict[str, Any]:
    closed = ctx.activity(add_up, list(state.sums))
    if state.outcome == "kept":
        released = ctx.effect(release_amount, at_bank(state)).result
        return {"closed": closed, "receipt": released}
    return {"closed": closed}
