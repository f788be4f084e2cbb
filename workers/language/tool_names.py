"""Names of tools on the wires, which take letters, digits, _ and - only."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..authoring.errors import StepFailed
from ..authoring.language_models import Reply, Request

_OTHER = re.compile(r"[^A-Za-z0-9_-]")
LONGEST = 64


def wire_name(name: str) -> str:
    """A tool's name as the wires take it."""
    return _OTHER.sub("_", name)[:LONGEST]


def sent(request: Request) -> tuple[Request, dict[str, str]]:
    """(the request with names for the wire, {such a name: the tool's own}); StepFailed."""
    names: dict[str, str] = {}
    for tool in request.tools:
        other = names.setdefault(wire_name(tool["name"]), tool["name"])
        if other != tool["name"]:
            raise StepFailed(f"A model cannot tell the tools {other!r} and {tool['name']!r} apart.")
    tools = tuple({**tool, "name": wire_name(tool["name"])} for tool in request.tools)
    return replace(request, tools=tools, chat=tuple(map(_renamed, request.chat))), names


def _renamed(message: dict[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    calls = [{**call, "name": wire_name(call["name"])} for call in message["tool_calls"]]
    return {**message, "tool_calls": calls}


def received(reply: Reply, names: dict[str, str]) -> Reply:
    """The reply with the tools' own names."""
    calls = tuple(replace(call, name=names.get(call.name, call.name)) for call in reply.tool_calls)
    return replace(reply, tool_calls=calls)
