"""python choices.py AGENT ARGUMENT: small agents, one for each thing that can happen to them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from gatepost_client import Approve, Rejected, agent, aio, ask, effect, messages, step

OUTSIDE = Path(os.environ["OUTSIDE"])


def note(file: str, text: str) -> None:
    with (OUTSIDE / file).open("a") as log:
        log.write(text + "\n")


def stay(name: str) -> None:
    """Stay while the file NAME.hold is there."""
    (OUTSIDE / name).touch()
    while (OUTSIDE / f"{name}.hold").exists():
        time.sleep(0.02)


@effect(approve="Send {text}?")
def send(text: str, *, key: str) -> str:
    note("sent", text)
    return f"sent {text}"


@step
def count(text: str) -> int:
    note("count", text)
    return len(text)


@effect
def wire(amount: int) -> str:
    note("wired", str(amount))
    if amount > 1000:
        raise TimeoutError("the bank did not answer")
    return f"wired {amount}"


@agent("sends", thread="{text}", searchable=["text"])
def sends(text: str) -> Any:
    length = count(text)
    try:
        return [length, send(text)]
    except Rejected as error:
        return [length, f"not sent: {error.comment}", wire(length)]


@agent("asks", thread="{name}")
def asks(name: str) -> Any:
    colour = ask("Which colour?", schema={"type": "string", "enum": ["red", "green"]})
    return {"colour": colour, "messages": messages(wait=10)}


@agent("wires", thread="{name}")
def wires(name: str, amount: int) -> Any:
    return wire(amount)


@agent("stays", thread="{name}")
def stays(name: str) -> Any:
    first = count(name)
    stay("staying")
    return [first, count(name + "!")]


@step
async def fetch(page: int) -> str:
    note("fetched", str(page))
    await asyncio.sleep(0.05)
    return f"page {page}"


@effect(approve=Approve("Publish {n} pages?"))
async def publish(n: int) -> str:
    note("published", str(n))
    return "out"


@agent("crawls", thread="{name}")
async def crawls(name: str) -> Any:
    pages = await asyncio.gather(*(fetch(page) for page in range(3)))
    state = await publish(len(pages))
    return {"pages": pages, "state": state, "who": await aio.ask("Who reads it?")}


@agent("sleeps", thread="{name}")
async def sleeps(name: str) -> Any:
    await fetch(1)
    await asyncio.sleep(120)


def unwire(args: dict[str, Any], result: Any, *, key: str) -> str:
    note("unwired", str(args["amount"]))
    return "back"


@effect(undo=unwire)
def rewire(amount: int) -> str:
    note("wired", str(amount))
    return f"wired {amount}"


@agent("undoes", thread="{name}")
def undoes(name: str) -> Any:
    first = count(name)
    rewire(first)
    return ask("Enough?")


@effect
def weigh(name: str) -> float:
    note("weighed", name)
    return float("nan")


@agent("weighs", thread="{name}")
def weighs(name: str) -> Any:
    return weigh(name)


AGENTS: dict[str, Any] = {
    "weighs": weighs,
    "sends": sends,
    "asks": asks,
    "wires": wires,
    "stays": stays,
    "crawls": crawls,
    "sleeps": sleeps,
    "undoes": undoes,
}

if __name__ == "__main__":
    chosen, *rest = sys.argv[1:]
    if rest == ["--serve"]:
        AGENTS[chosen].serve(once=True)
        sys.exit(0)
    arguments = [int(value) if value.isdigit() else value for value in rest]
    result = AGENTS[chosen](*arguments)
    print(json.dumps(asyncio.run(result) if asyncio.iscoroutine(result) else result))
