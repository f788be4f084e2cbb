"""Descriptions of servers and their tools, as clients see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .conversations import Client
from .registry import changes, queries
from .registry.definitions import GROUPS
from .registry.queries import ServerRow
from .upstream.wire import TASKS, Message


def shown_tools(client: Client, result: Mapping[str, Any]) -> Message:
    """The tools that an admin accepted, as they were accepted; what is new or changed is noted.

    A description is read by a model, so one that nobody accepted is not passed on. Raises
    InvalidValue.
    """
    listed = result.get("tools")
    tools = listed if isinstance(listed, list) else []
    changes.note_listed(client.server, tools, actor=client.owner)
    rows = {row.name: row for row in queries.tools(client.server.id)}
    names = [tool["name"] for tool in tools]
    shown = [
        dict(rows[name].accepted or {})
        for name in dict.fromkeys(names)
        if rows[name].accepted is not None and rows[name].mode != "refuse"
    ]
    return {**result, "tools": shown}


def shown_capabilities(server: ServerRow, result: Mapping[str, Any], *, modern: bool) -> Message:
    """State what the server can do and an admin lets it; tasks are the gateway's own."""
    stated = result.get("capabilities")
    capabilities = dict(stated) if isinstance(stated, dict) else {}
    for name in ("tasks", "logging", *(g for g in GROUPS if server.modes[g] == "refuse")):
        capabilities.pop(name, None)
    if modern:
        extensions = capabilities.get("extensions")
        known = extensions if isinstance(extensions, dict) else {}
        capabilities["extensions"] = {**known, TASKS: {}}
    return {**result, "capabilities": capabilities}
