"""`bench-wasting`: each step fetches something and asks a model, both at a server that counts.

The server stands in for what costs: it answers with a text of fixed form and a number of tokens.
It is no model, and says so in its answers.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Annotated, Any

from benchmarks.faults.charged_server import MODEL, SERVER, TIMEOUT_SECONDS
from gatepost import END, Append, Context, Graph, Reply, Request, State, Sum


class Wasting(State):
    """`trial` names the task and how it is worked, for the server's counts."""

    trial: str
    steps: int
    at: Annotated[int, Sum()] = 0
    log: Annotated[list[str], Append()] = []


def _call(what: str, trial: str, step: int) -> Any:
    body = json.dumps({"what": what, "trial": trial, "step": step, "pid": os.getpid()}).encode()
    request = urllib.request.Request(os.environ[SERVER], body)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        return json.load(answer)


def fetch(trial: str, step: int) -> str:
    """What a step reads before it asks."""
    return str(_call("fetch", trial, step)["text"])


def stand_in(request: Request) -> Reply:
    """Asks the counting server, which charges by the call."""
    payload = request.parts[0]
    if not isinstance(payload, dict):
        return Reply("")  # what a shipped node asks by itself is answered by nobody
    result = _call("model", payload["trial"], payload["step"])
    return Reply(result["text"], MODEL, result["tokens_in"], result["tokens_out"])


graph = Graph("bench-wasting", Wasting, version=1, model=stand_in)


@graph.node(then=lambda state: "work" if state.at < state.steps else END, ways=("work", END))
def work(state: Wasting, ctx: Context) -> dict[str, Any]:
    """One step: two calls that cost."""
    step = state.at + 1
    ctx.activity(fetch, state.trial, step)
    return {"at": 1, "log": [ctx.model({"trial": state.trial, "step": step})]}
