"""MCP servers as admins enter and change them, by the declared actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from dashboard.administration import mcp_servers
from dashboard.administration.mcp_servers import (
    AcceptMcpTools,
    AddMcpServer,
    ChangeMcpServer,
    SetMcpToolMode,
)
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing


def add_mcp_server(who: Actor, name: str, wanted: Wanted) -> ServerRow:
    made = mcp_servers.ADD.run(who, read(AddMcpServer, {"name": name, **_values(wanted)}))
    return queries.server(made.id, workspace=who.workspace)


def change_mcp_server(who: Actor, server: UUID, wanted: Wanted) -> ServerRow:
    mcp_servers.CHANGE.run(who, read(ChangeMcpServer, _values(wanted)), server)
    return queries.server(server, workspace=who.workspace)


def remove_mcp_server(who: Actor, server: UUID) -> None:
    mcp_servers.REMOVE.run(who, Nothing(), server)


def list_mcp_tools(who: Actor, server: UUID) -> list[ToolRow]:
    mcp_servers.TOOLS.run(who, Nothing(), server)
    return queries.tools(server)


def accept_mcp_tools(who: Actor, server: UUID, tools: Mapping[str, str] | None) -> list[ToolRow]:
    mcp_servers.ACCEPT.run(who, read(AcceptMcpTools, {"tools": tools}), server)
    return queries.tools(server)


def set_mcp_tool_mode(who: Actor, server: UUID, tool: str, mode: str) -> None:
    mcp_servers.MODE.run(who, read(SetMcpToolMode, {"tool": tool, "mode": mode}), server)


def _values(wanted: Wanted) -> dict[str, Any]:
    return {name: value for name, value in asdict(wanted).items() if value is not None}
