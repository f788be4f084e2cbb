"""MCP servers behind the gateway: entered, changed and removed by admins, looked at by all."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.administration.mcp_servers import (
    accept_mcp_tools,
    add_mcp_server,
    change_mcp_server,
    list_mcp_tools,
    mcp_server,
    mcp_servers,
    remove_mcp_server,
    set_mcp_tool_mode,
)
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.requests import Nothing

from .mcp_server_shapes import (
    AcceptMcpTools,
    AddMcpServer,
    ChangeMcpServer,
    McpServer,
    McpServerDetail,
    McpServerList,
    McpServerRemoved,
    McpTool,
    SetMcpToolMode,
)


class McpServers(MemberView):
    """All of the workspace, or a new one."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_list",
        responses={200: McpServerList, **refusals()},
        summary="List",
    )
    def get(self, request: Request) -> Response:
        """By name."""
        results = [McpServer.from_row(row) for row in mcp_servers(self.actor)]
        return answer(McpServerList(results=results))

    @extend_schema(
        operation_id="mcp_servers_add",
        request=AddMcpServer,
        responses={201: McpServer, **refusals(422)},
        summary="Add an MCP server",
        description="Its tools can be called once they were listed and accepted.",
    )
    def post(self, request: Request) -> Response:
        """Without tools."""
        body = self.body(AddMcpServer)
        row = add_mcp_server(self.actor, body.name, body.wanted())
        return answer(McpServer.from_row(row), status=201)


class OneMcpServer(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="mcp_servers_retrieve",
        responses={200: McpServerDetail, **refusals(404)},
        summary="A server and its tools",
    )
    def get(self, request: Request, server_id: UUID) -> Response:
        """With what an admin has not accepted yet."""
        return answer(McpServerDetail.of(*mcp_server(self.actor, server_id)))


class ChangeOneMcpServer(MemberView):
    """Change a server."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_change",
        request=ChangeMcpServer,
        responses={200: McpServer, **refusals(404, 422)},
        summary="Change an MCP server",
        description="With another address or command its tools have to be accepted again.",
    )
    def post(self, request: Request, server_id: UUID) -> Response:
        """Leave what is not named as it is."""
        body = self.body(ChangeMcpServer)
        return answer(McpServer.from_row(change_mcp_server(self.actor, server_id, body.wanted())))


class RemoveOneMcpServer(MemberView):
    """Remove a server."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_remove",
        request=Nothing,
        responses={200: McpServerRemoved, **refusals(404)},
        summary="Remove an MCP server",
        description="What was called through it stays on record.",
    )
    def post(self, request: Request, server_id: UUID) -> Response:
        """With its tools."""
        self.body(Nothing)
        remove_mcp_server(self.actor, server_id)
        return answer(McpServerRemoved(id=server_id))


class ListToolsOfMcpServer(MemberView):
    """Ask a server for its tools."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_tools",
        request=Nothing,
        responses={200: McpServerDetail, **refusals(404, 409, 422)},
        summary="Ask an MCP server for its tools",
        description="New tools and changed definitions are noted; each has to be accepted.",
    )
    def post(self, request: Request, server_id: UUID) -> Response:
        """409 where it does not answer."""
        self.body(Nothing)
        list_mcp_tools(self.actor, server_id)
        return answer(McpServerDetail.of(*mcp_server(self.actor, server_id)))


class AcceptToolsOfMcpServer(MemberView):
    """Accept definitions."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_accept",
        request=AcceptMcpTools,
        responses={200: McpServerDetail, **refusals(404, 409, 422)},
        summary="Accept definitions of tools",
        description="409 where a definition is another one by now than was seen.",
    )
    def post(self, request: Request, server_id: UUID) -> Response:
        """Their calls are let through from now on."""
        accept_mcp_tools(self.actor, server_id, self.body(AcceptMcpTools).tools)
        return answer(McpServerDetail.of(*mcp_server(self.actor, server_id)))


class SetModeOfMcpTool(MemberView):
    """Choose what decides."""

    changes = "mcp"

    @extend_schema(
        operation_id="mcp_servers_mode",
        request=SetMcpToolMode,
        responses={200: McpTool, **refusals(404, 422)},
        summary="Say what decides about a tool's calls",
    )
    def post(self, request: Request, server_id: UUID) -> Response:
        """For the very next call."""
        body = self.body(SetMcpToolMode)
        row = set_mcp_tool_mode(self.actor, server_id, body.tool, body.mode)
        return answer(McpTool.from_row(row))
