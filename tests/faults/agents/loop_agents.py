"""An agent whose nodes run event loops of their own and use the context inside them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, progress

COUNT = 12


class Looped(State):
    folder: str = ""
    out: Annotated[list[str], Append()] = []
    at: int = 0


async def answer(request: Request) -> Reply:
    """The model; a coroutine, as the clients of most providers are."""
    await asyncio.sleep(0)
    return Reply(f"{request.text}!", "set-1", 3, 4, "0.0001")


async def fetch(name: str) -> str:
    """An `async def` activity that reports and keeps a cursor."""
    await asyncio.sleep(0)
    progress(1, 2, "half", cursor={"at": 1})
    return f"fetched {name}"


def read(name: str) -> str:
    """A plain activity."""
    return f"read {name}"


@tool("loop.send", idempotent=True)
async def send(text: str, *, key: str) -> dict[str, Any]:
    """Send it."""
    await asyncio.sleep(0)
    return {"sent": text}


graph = Graph(os.environ.get("HAZARD_AGENT", "looped"), Looped, model=answer)
if "HAZARD_QUEUE" in os.environ:
    graph.queue = os.environ["HAZARD_QUEUE"]


def run_sync(work: Coroutine[Any, Any, list[str]]) -> list[str]:
    """What frameworks offer as `agent.run_sync()`."""
    return asyncio.run(work)


@graph.node(then="quick")
def whole(state: Looped, ctx: Context) -> dict[str, Any]:
    async def inner() -> list[str]:
        await asyncio.sleep(0)
        ctx.think("inside of a loop")
        results = [ctx.model("tea"), ctx.activity(fetch, "a"), ctx.activity(read, "b")]
        results += [str(ctx.config.get("model", "none")), ctx.now().isoformat()[:2]]
        results.append(str(len(ctx.uuid().hex)))
        file = ctx.artifact("tea.txt", b"tea", "text/plain")
        results.append(ctx.open_artifact(file).read().decode())
        gate = Gate("Send it?", risk="low")
        results.append(ctx.effect(send, {"text": "hello"}, gate=gate).result["sent"])
        return results

    return {"out": run_sync(inner())}


def again(state: Looped) -> Any:
    return "quick" if state.at < COUNT else END


@graph.node(then=again, ways=("quick", END))
def quick(state: Looped, ctx: Context) -> dict[str, Any]:
    """Quick steps; now and then one uses the context."""

    async def inner() -> list[str]:
        return [ctx.activity(read, str(state.at))] if state.at % 4 == 3 else []

    return {"out": run_sync(inner()), "at": state.at + 1}
