"""Agents for the guard in real workers: one that keeps to the rules, one that asks in its node."""

from __future__ import annotations

import importlib
import logging
import os
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import redis
from django.conf import settings
from django.contrib.auth.models import User

from workers.authoring.graph import END, Graph, State, Sum
from workers.node.context import Context

QUEUE = os.environ["HAZARD_QUEUE"]
log = logging.getLogger("guarded_agents")


class Orderly(State):
    folder: str
    upto: int
    at: Annotated[int, Sum()] = 0


orderly = Graph(f"orderly-{QUEUE}", Orderly, queue=QUEUE)


def around(folder: str, number: int) -> int:
    """Databases, Valkey, files and a module: all of it is fine in an activity."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.incr(f"guarded:{QUEUE}")
    Path(folder, f"late_{number}.py").write_text(f"HERE = {number}\n")
    return User.objects.count()


@orderly.node(then=lambda state: "step" if state.at < state.upto else END, ways=("step", END))
def step(state: Orderly, ctx: Context) -> dict[str, Any]:
    number = state.at
    ctx.think(f"Number {number} comes now")
    ctx.activity(around, state.folder, number)
    log.info("said in the node")
    ctx.now(), ctx.random(), ctx.uuid()
    late = importlib.machinery.SourceFileLoader(
        f"late_{number}", str(Path(state.folder, f"late_{number}.py"))
    )
    ctx.artifact("note.txt", f"{late.name} {number}".encode(), "text/plain")
    module = late.load_module()  # compiles it beside its source
    return {"at": 1 if number == module.HERE else 0}


class Direct(State):
    folder: str
    address: str
    said: str = ""


direct = Graph(f"direct-{QUEUE}", Direct, queue=QUEUE)


def ask_directly(address: str) -> str:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return str(answer.read().decode())


@direct.node(then=END)
def ask(state: Direct, ctx: Context) -> dict[str, Any]:
    if Path(state.folder, "mended").exists():
        return {"said": ctx.activity(ask_directly, state.address)}
    return {"said": ask_directly(state.address)}
