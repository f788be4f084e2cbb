"""Tools of the MCP server as entry points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.test import Client

from approvals import queries as requests
from dashboard.gateway.server.protocol import call_tool
from dashboard.gateway.server.tools import TOOLS
from dashboard.gateway.server.tools.calls import ApiAnswer, ApiCall
from tests.contract.world import World
from tests.support import decisions

from .calls import tokens_of
from .entry import Entry, Knock, outcome_of, swapped

PAY = {"name": "entry-1", "tool": "pay", "args": {"amount": "1.00"}, "title": "Pay"}

# Those that only read open nothing that the calls of the API do not.
MCP_TOOLS: dict[str, Callable[[World], dict[str, Any]]] = {
    "start": lambda w: {"agent": "research", "input": {"goal": "delays"}},
    "input": lambda w: {"thread": str(w.inbox), "message": "and the rain"},
    "signal": lambda w: {"thread": str(w.inbox), "name": "settled", "value": 1},
    "reveal": lambda w: {"thread": str(w.encrypted), "channel": "note"},
    "ask_records": lambda w: {"question": "Who started it?", "thread": str(w.ended)},
    "add_file": lambda w: {"thread": str(w.ended), "name": "notes.txt", "text": "x"},
    "fork": lambda w: {"thread": str(w.ended), "checkpoint": str(w.first)},
    "roll_back": lambda w: {"thread": str(w.ended), "checkpoint": str(w.first), "reason": "no"},
    "remember": lambda w: {"text": "Weber is paid within 30 days."},
    "correct_memory": lambda w: {"memory": str(w.memory), "text": "14 days.", "reason": "no"},
    "forget": lambda w: {"memory": str(w.memory), "reason": "It is wrong"},
    "save_state": lambda w: {"name": w.saved, "state": {"turn": 2}},
    "request_approval": lambda w: PAY,
    "report_outcome": lambda w: _let_through(w),
    "ask": lambda w: {"name": "entry-2", "question": "Why?"},
    "decide": lambda w: {
        "approval": str(w.gate.id),
        "verdict": "approve",
        "proposal_hash": w.gate.proposal_hash,
    },
}


def answer_of(name: str, arguments: dict[str, Any], token: str) -> ApiAnswer:
    """What a tool answers to the bearer of a token, without the network."""

    async def api(call: ApiCall) -> ApiAnswer:
        raw = "" if call.body is None else json.dumps(call.body)
        headers = {**call.headers, "Authorization": f"Bearer {token}"}
        path = f"/api/v1/{call.path}?{urlencode(call.query)}"
        kind = "application/json"
        made: Any = Client().generic(call.method, path, raw, content_type=kind, headers=headers)
        return ApiAnswer(made.status_code, made.json())

    work = call_tool(TOOLS[name], arguments, api)
    try:
        work.send(None)
    except StopIteration as end:
        answer: ApiAnswer = end.value
        return answer
    raise AssertionError(f"{name} waits for something")


def _let_through(world: World) -> dict[str, Any]:
    """A call that a reviewer has approved and the operator's agent has begun."""
    token = tokens_of(world)["operator"]
    thread = answer_of("request_approval", PAY, token).data["thread"]["id"]
    (row,) = requests.for_thread(UUID(thread), open_only=True)
    decisions.decide(world.cast.actor("manager"), row.id, "approve", row.standing_hash)
    begun = answer_of("request_approval", PAY, token).data
    assert begun["do"] == "call", begun
    return {"thread": thread, "lease": begun["lease"], "tool": "pay", "state": "done"}


def tool(name: str, world: World, foreign: bool) -> Knock:
    """Call a tool with a bearer token."""
    arguments = MCP_TOOLS[name](world)
    if foreign:
        arguments = json.loads(swapped(world, json.dumps(arguments)))
        if name == "report_outcome":
            arguments["thread"] = str(world.foreign)
    bearers = tokens_of(world)
    return lambda who: outcome_of(answer_of(name, arguments, bearers[who]).status)


def tools() -> Iterator[Entry]:
    for name in MCP_TOOLS:
        things = name in (
            "input",
            "signal",
            "reveal",
            "ask_records",
            "add_file",
            "fork",
            "roll_back",
            "report_outcome",
            "decide",
        )
        yield Entry("mcp", name, partial(tool, name), names_things=things)
