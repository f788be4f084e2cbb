"""Administer MCP servers behind the gateway, and their tools: part of `actions`.

The same shape as there: the right first, then the domain call, errors as ActionError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from uuid import UUID

from dashboard.errors import translated
from dashboard.fields.credentials import check_credentials
from dashboard.gateway.registry import changes, queries
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.upstream.inquiry import listed_tools
from dashboard.identity.permissions import Actor, require


@translated()
def add_mcp_server(actor: Actor, name: str, wanted: Wanted) -> ServerRow:
    """Enter a server; its tools are unknown until it is asked for them."""
    require(actor, "mcp")
    check_credentials("$", asdict(wanted) | {"name": name})
    return changes.add(actor.workspace, name, wanted, actor=actor.id)


@translated()
def change_mcp_server(actor: Actor, server: UUID, wanted: Wanted) -> ServerRow:
    """Give a server other values; with another address its tools have to be accepted anew."""
    require(actor, "mcp")
    check_credentials("$", asdict(wanted))
    return changes.change(server, wanted, workspace=actor.workspace, actor=actor.id)


@translated()
def remove_mcp_server(actor: Actor, server: UUID) -> None:
    """Take a server away; what was called through it stays on record."""
    require(actor, "mcp")
    changes.remove(server, workspace=actor.workspace, actor=actor.id)


@translated()
def list_mcp_tools(actor: Actor, server: UUID) -> list[ToolRow]:
    """Ask a server for its tools now, and note what is new or has changed."""
    require(actor, "mcp")
    row = queries.server(server, workspace=actor.workspace)
    changes.note_listed(row, listed_tools(row), actor=actor.id)
    return queries.tools(server)


@translated()
def accept_mcp_tools(actor: Actor, server: UUID, tools: Mapping[str, str] | None) -> list[ToolRow]:
    """Accept definitions of tools: {name: hash that was seen}, None for all as listed now."""
    require(actor, "mcp")
    return changes.accept(server, tools, workspace=actor.workspace, actor=actor.id)


@translated()
def set_mcp_tool_mode(actor: Actor, server: UUID, tool: str, mode: str) -> ToolRow:
    """Say what decides about a tool's calls: policies, people each time, or nobody may call it."""
    require(actor, "mcp")
    return changes.set_mode(server, tool, mode, workspace=actor.workspace, actor=actor.id)


@translated()
def mcp_servers(actor: Actor) -> list[ServerRow]:
    """The servers of the workspace by name."""
    require(actor, "read")
    return queries.servers(actor.workspace)


@translated()
def mcp_server(actor: Actor, server: UUID) -> tuple[ServerRow, list[ToolRow]]:
    """A server and its tools."""
    require(actor, "read")
    return queries.server(server, workspace=actor.workspace), queries.tools(server)
