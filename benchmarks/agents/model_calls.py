"""`bench-asking`: each step asks a model of the bench over HTTP and waits for its answer."""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, Reply, Request, State

SERVER = "BENCH_ASKING_SERVER"


class Asking(State):
    steps: int
    log: Annotated[list[str], Append()] = []


def ask_server(request: Request) -> Reply:
    """Asks the server of the bench, which sleeps and answers."""
    body = json.dumps({"prompt": request.parts[0]}).encode()
    with urllib.request.urlopen(
        urllib.request.Request(os.environ[SERVER], body), timeout=60
    ) as answer:
        result = json.load(answer)
    return Reply(result["text"], "sleeping-server", result["tokens_in"], result["tokens_out"])


graph = Graph("bench-asking", Asking, version=1, model=ask_server)


@graph.node(then=lambda state: "ask" if len(state.log) < state.steps else END, ways=("ask", END))
def ask(state: Asking, ctx: Context) -> dict[str, Any]:
    """One step: one question."""
    return {"log": [ctx.model(f"Question {len(state.log) + 1}?")]}
