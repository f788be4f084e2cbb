"""Verbs of `mcp`: list, add, change, remove, tools, accept, mode."""

from __future__ import annotations

import argparse
import shlex
from uuid import UUID

from dashboard.administration.mcp_server_shapes import (
    McpServer,
    McpServerDetail,
    McpServerList,
    McpTool,
)
from dashboard.administration.mcp_servers import (
    accept_mcp_tools,
    add_mcp_server,
    change_mcp_server,
    list_mcp_tools,
    mcp_servers,
    remove_mcp_server,
    set_mcp_tool_mode,
)
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.registry.definitions import GROUPS, MODES
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand, Verb, translated
from dashboard.kit.terminal.tables import Table, facts, table


def listing(command: PersonalCommand) -> None:
    """All servers of the workspace."""
    actor = command.actor("read")
    rows = mcp_servers(actor)
    waiting = queries.waiting(actor.workspace)
    shown = McpServerList(results=[McpServer.from_row(row) for row in rows])
    command.show(shown, _servers(rows, waiting))
    if not rows:
        command.say("There are no MCP servers.")


def add(command: PersonalCommand) -> None:
    """Enter a server."""
    row = add_mcp_server(command.actor("mcp"), command.options["name"], _wanted(command))
    _show(command, row)


def change(command: PersonalCommand) -> None:
    """Change a server."""
    actor = command.actor("mcp")
    _show(command, change_mcp_server(actor, _server(command, actor).id, _wanted(command)))


def remove(command: PersonalCommand) -> None:
    """Remove a server."""
    actor = command.actor("mcp")
    row = _server(command, actor)
    remove_mcp_server(actor, row.id)
    _show(command, row)


def tools(command: PersonalCommand) -> None:
    """Ask a server for its tools."""
    actor = command.actor("mcp")
    row = _server(command, actor)
    _show_tools(command, row, list_mcp_tools(actor, row.id))


def accept(command: PersonalCommand) -> None:
    """Accept what is listed: some tools, or all."""
    actor = command.actor("mcp")
    row = _server(command, actor)
    names = command.options["tool"]
    wanted = None
    if names:
        known = {tool.name: tool.listed_hash for tool in queries.tools(row.id)}
        wanted = {name: known.get(name, "") for name in names}
    _show_tools(command, row, accept_mcp_tools(actor, row.id, wanted))


def mode(command: PersonalCommand) -> None:
    """Say what decides about a tool's calls."""
    actor, o = command.actor("mcp"), command.options
    row = set_mcp_tool_mode(actor, _server(command, actor).id, o["tool"], o["mode"])
    command.show(McpTool.from_row(row), _tools([row]))


def _server(command: PersonalCommand, actor: Actor) -> ServerRow:
    with translated():
        return queries.server_named(command.options["name"], workspace=actor.workspace)


def _wanted(command: PersonalCommand) -> Wanted:
    o = command.options
    words = None if o["command_line"] is None else shlex.split(o["command_line"])
    return Wanted(
        url=o["url"],
        command=words,
        credential=o["credential"],
        credential_to=o["credential_to"],
        active=o.get("active"),
        **{group: o[group] for group in GROUPS},
    )


def _show(command: PersonalCommand, row: ServerRow) -> None:
    values = [
        ("id", row.id),
        ("name", row.name),
        ("address", f"/mcp/{row.name}/"),
        ("server", row.url or shlex.join(row.command)),
        ("credential", row.credential or "none"),
        ("active", "yes" if row.active else "no"),
        ("refused", refusal(row) or "no"),
        *row.modes.items(),
    ]
    command.show(McpServer.from_row(row), facts(f"MCP server {row.name}", values))


def _show_tools(command: PersonalCommand, row: ServerRow, rows: list[ToolRow]) -> None:
    command.show(McpServerDetail.of(row, rows), _tools(rows))
    if waiting := sum(tool.is_waiting for tool in rows):
        command.say(f"{waiting} of them have to be accepted: mcp accept {row.name}")


def _servers(rows: list[ServerRow], waiting: dict[UUID, int]) -> Table:
    return table(
        "MCP servers",
        ("name", "server", "credential", "active", "to accept", "refused", "id"),
        (
            (
                row.name,
                row.url or shlex.join(row.command),
                row.credential or "none",
                "yes" if row.active else "no",
                waiting.get(row.id, 0),
                refusal(row),
                str(row.id),
            )
            for row in rows
        ),
    )


def _tools(rows: list[ToolRow]) -> Table:
    return table(
        "Tools",
        ("name", "state", "changed", "decides", "fault"),
        ((row.name, row.state, ", ".join(row.changed), row.mode, row.fault) for row in rows),
    )


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a-z, 0-9 and -")


def _values(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--url", metavar="URL", help="where it answers streamable HTTP")
    parser.add_argument(
        "--command", dest="command_line", metavar="WORDS", help="the program, over stdio"
    )
    parser.add_argument("--credential", metavar="SECRET", help="GATEPOST_SECRET_...")
    parser.add_argument(
        "--credential-to", metavar="NAME", help="the header or variable that carries it"
    )
    for group in GROUPS:
        parser.add_argument(f"--{group}", choices=MODES, help=f"what decides about reading {group}")


def _changes(parser: argparse.ArgumentParser) -> None:
    _values(parser)
    parser.add_argument(
        "--active", action=argparse.BooleanOptionalAction, help="let clients reach it, or not"
    )


def _accept(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("tool", nargs="*", metavar="TOOL", help="these only; else all")


def _mode(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument("mode", choices=MODES, help="what decides about its calls")


VERBS = (
    Verb("list", "lists the MCP servers of the workspace", listing),
    Verb(
        "add",
        "adds a server; clients reach it at /mcp/NAME/",
        add,
        _values,
        "mcp add files --command 'npx @modelcontextprotocol/server-filesystem /data'",
    ),
    Verb("change", "changes a server", change, _changes, "mcp change files --no-active"),
    Verb("remove", "removes a server; what was called stays on record", remove, _name),
    Verb("tools", "asks a server for its tools", tools, _name),
    Verb("accept", "accepts definitions of tools as they are listed", accept, _accept),
    Verb(
        "mode",
        "says what decides about a tool's calls",
        mode,
        _mode,
        "mcp mode github delete_repo refuse",
    ),
)
