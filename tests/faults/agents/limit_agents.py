"""Agents that call a service over HTTP, and agents that do harm: copied out and named by a worker.

What they do is seen in files alone, as in own_agents.
"""

from __future__ import annotations

import os
import re
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

from workers.authoring.graph import END, Graph, Retry, State
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, progress

QUEUE = os.environ.get("HAZARD_QUEUE", "limits")
SUFFIX = "" if QUEUE == "limits" else f"-{QUEUE}"


def trace(folder: str, name: str) -> None:
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} \n")


def look(folder: str, name: str) -> str:
    trace(folder, name)
    return f"saw {name}"


# ---- caller -------------------------------------------------------------------------------------


class Call(State):
    folder: str
    url: str = ""
    timeout: float = 30
    attempts: int = 5
    first: float = 0.2
    answer: str = ""
    said: str = ""


def fetch(url: str, timeout: float) -> str:
    with urllib.request.urlopen(url, timeout=timeout) as opened:
        text: str = opened.read().decode()
        return text


def answer(request: Request) -> Reply:
    """A model that is a service, as in docs/howto/write-an-agent.md."""
    return Reply(fetch(request.parts[0], 30), model="served-1", tokens_in=5, tokens_out=7)


caller = Graph(f"caller{SUFFIX}", Call, queue=QUEUE, model=answer)


@caller.node(then="call")
def before(state: Call, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "before")
    return {}


@caller.node(then="after")
def call(state: Call, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "beside")
    policy = Retry(attempts=state.attempts, first=state.first, most=5, plain=False)
    return {"answer": ctx.activity(fetch, state.url, state.timeout, retry=policy)}


@caller.node(then=END)
def after(state: Call, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "after")
    return {}


asker = Graph(f"asker{SUFFIX}", Call, queue=QUEUE, model=answer)


@asker.node(then=END)
def ask(state: Call, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "beside")
    return {"said": ctx.model(state.url, retry=Retry(first=0.2, most=5))}


# ---- harm ---------------------------------------------------------------------------------------


class Harm(State):
    folder: str
    how: str


def strike(folder: str, how: str) -> str:
    """Do harm until a file says that it is mended."""
    trace(folder, "strike")
    if Path(folder, "mended").exists():
        return "mended"
    if how == "exit":
        os._exit(1)
    if how == "segv":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "sleep":
        time.sleep(3600)
    while how == "spin":
        pass
    if how == "hold":  # never lets go of the interpreter
        re.match(r"(a+)+$", "a" * 60 + "b")
    hoard: list[bytes] = []
    while how == "eat":
        hoard.append(bytes(64 << 20))  # mapped and never touched: only the slot runs short
    while how == "stubborn":
        try:
            time.sleep(0.05)
            progress(1, 2)
        except BaseException:
            continue
    return "harmless"


harm = Graph(f"harm{SUFFIX}", Harm, queue=QUEUE, step_seconds=30)


@harm.node(then="do")
def begin(state: Harm, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "begin")
    return {}


@harm.node(then="end", time_limit=2)
def do(state: Harm, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "beside")
    ctx.activity(strike, state.folder, state.how)
    return {}


@harm.node(then=END)
def end(state: Harm, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "end")
    return {}


# ---- beside: others on the same worker ----------------------------------------------------------


class Beside(State):
    folder: str


beside = Graph(f"beside{SUFFIX}", Beside, queue=QUEUE)


@beside.node(then="last")
def first(state: Beside, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "first")
    return {}


@beside.node(then=END)
def last(state: Beside, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "last")
    return {}
