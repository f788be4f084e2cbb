"""An agent for hosts that share no folder: what it does is counted by a server outside of all."""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.request
from pathlib import Path
from typing import Any

import workers
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.node.context import Context

SIZE = 200_000


class Errand(State):
    name: str
    once: bool
    file: dict[str, Any] = {}
    sha256: str = ""


graph = Graph("errand", Errand)


def call(what: str, name: str, key: str = "") -> str:
    """Tell the counter; what it answers, which may take until a test lets it."""
    host = os.environ["HOST_NAME"]
    code = str(Path(workers.__path__[0]).parent)
    body: dict[str, Any] = {"what": what, "name": name, "key": key}
    body |= {"host": host, "code": code, "clock": time.time()}
    request = urllib.request.Request(os.environ["COUNTER_URL"], json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=90) as answer:
        text: str = answer.read().decode()
    return text


def content(name: str) -> bytes:
    """The bytes of an errand's file, which no other errand has."""
    return hashlib.shake_256(name.encode()).digest(SIZE)


@tool("errand-deliver", idempotent=True)
def deliver(name: str, *, key: str) -> str:
    """Counted once by its key, however often it is called."""
    return call("deliver", name, key)


@tool("errand-charge")
def charge(name: str, *, key: str) -> str:
    """May not be repeated."""
    return call("charge", name, key)


@tool("errand-send", idempotent=True)
def send(name: str, *, key: str) -> str:
    """What people decide about."""
    return call("send", name, key)


@graph.node(then="carry")
def collect(state: Errand, ctx: Context) -> dict[str, Any]:
    ctx.activity(call, "read", state.name)
    file = ctx.artifact(f"{state.name}.bin", content(state.name), "application/octet-stream")
    return {"file": file}


@graph.node(then="confirm")
def carry(state: Errand, ctx: Context) -> dict[str, Any]:
    ctx.effect(charge if state.once else deliver, {"name": state.name})
    return {}


@graph.node(then="close", gate=True)
def confirm(state: Errand, ctx: Context) -> dict[str, Any]:
    ctx.effect(send, {"name": state.name}, gate=Gate(f"Send {state.name}?"))
    return {}


@graph.node(then=END)
def close(state: Errand, ctx: Context) -> dict[str, Any]:
    ctx.sleep(1.0)
    with ctx.open_artifact(state.file) as file:
        return {"sha256": hashlib.sha256(file.read()).hexdigest()}
