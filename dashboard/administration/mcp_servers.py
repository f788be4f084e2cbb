"""MCP servers behind the gateway, and their tools: admins enter and change them, all look at them.

Secrets are only ever named. A tool is called once an admin has accepted its definition.
"""

from __future__ import annotations

import argparse
import shlex
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import Field

from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.gateway.registry import changes, queries
from dashboard.gateway.registry.changes import CARRIER, CREDENTIAL, NAME, URL_MAX, WORDS_MAX, Wanted
from dashboard.gateway.registry.definitions import GROUPS, TOOL_NAME_MAX
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.gateway.upstream.inquiry import listed_tools
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action, Target, read
from dashboard.kit.command import verb
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Hash, Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank, OneOf
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.models import MODES
from dashboard.wording.savings import counted

ToolName = Annotated[str, NotBlank(TOOL_NAME_MAX)]


class ChangeMcpServer(RequestShape):
    """Other values of a server; what is left out stays."""

    url: Annotated[str, Field(max_length=URL_MAX)] | None = Field(
        default=None, description="Where it answers streamable HTTP; empty for a command."
    )
    command: (
        Annotated[list[Annotated[str, Field(max_length=URL_MAX)]], Field(max_length=WORDS_MAX)]
        | None
    ) = Field(
        default=None,
        description="The program and its arguments, spoken to over stdio. GATEPOST_MCP_COMMANDS "
        "lists the programs that may be started.",
    )
    credential: (
        Annotated[str, Field(pattern=f"^({CREDENTIAL.pattern})?$", max_length=100)] | None
    ) = Field(default=None, description="The name of the secret that the server is shown.")
    credential_to: (
        Annotated[str, Field(pattern=f"^({CARRIER.pattern})?$", max_length=100)] | None
    ) = Field(
        default=None,
        description="The header that carries it (`Authorization`), or the program's variable.",
    )
    active: bool | None = Field(default=None, description="Whether clients reach it.")
    resources: Annotated[str, OneOf(MODES)] | None = Field(
        default=None, description="What decides about resources/*: as the `mode` of a tool."
    )
    prompts: Annotated[str, OneOf(MODES)] | None = Field(
        default=None, description="What decides about prompts/*: as the `mode` of a tool."
    )
    completions: Annotated[str, OneOf(MODES)] | None = Field(
        default=None, description="What decides about completion/complete: as the `mode` of a tool."
    )

    def wanted(self) -> Wanted:
        """For the floor below."""
        return Wanted(**{name: getattr(self, name) for name in ChangeMcpServer.model_fields})


class AddMcpServer(ChangeMcpServer):
    """A new server."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$", max_length=40)] = Field(
        description="Clients reach it at /mcp/NAME/."
    )


class AcceptMcpTools(RequestShape):
    """Definitions that an admin accepts."""

    tools: Annotated[dict[ToolName, Hash], Field(max_length=1_000)] | None = Field(
        default=None, description="{tool: `listed_hash` that was seen}; null for all as listed now."
    )


class SetMcpToolMode(RequestShape):
    """The rule about the calls of a tool."""

    tool: ToolName
    mode: Annotated[str, OneOf(MODES)] = Field(
        description="`policies`: they decide. `ask`: people each time. `refuse`: nobody calls it."
    )


class McpServer(Shape):
    """A server behind the gateway."""

    id: UUID
    name: str
    transport: Literal["http", "command"]
    url: str
    command: list[str]
    credential: str
    credential_to: str
    active: bool
    resources: Literal["policies", "ask", "refuse"]
    prompts: Literal["policies", "ask", "refuse"]
    completions: Literal["policies", "ask", "refuse"]
    made_by: str
    created_at: datetime
    refusal: str = Field(
        description="Why today's settings refuse its address or credential; empty where it is "
        "called."
    )

    @classmethod
    def of(cls, row: ServerRow, **more: Any) -> Self:
        """The row for the wire, and what a longer shape has beside it."""
        own = McpServer.model_fields.keys() - {"command", "refusal", *GROUPS}
        values = {name: getattr(row, name) for name in own} | {**row.modes, **more}
        return cls(**values, command=list(row.command), refusal=refusal(row))


# The row has both definitions with their hashes; here is what follows from them.
class McpTool(Shape):
    """A tool; `changed` names the parts that an admin has not accepted."""

    name: str
    state: Literal["new", "changed", "accepted"]
    mode: Literal["policies", "ask", "refuse"]
    changed: list[str]
    accepted: dict[str, Any] | None
    accepted_by: str
    listed: dict[str, Any]
    listed_hash: str
    listed_at: datetime
    fault: str = Field(
        description="Why its name is none, such as one with a character that nobody sees; empty "
        "where it is one. A new tool with a fault is not offered and can't be accepted."
    )


class McpServerList(Shape):
    """The servers of the workspace by name."""

    results: list[McpServer]


class McpServerDetail(McpServer):
    """A server with its tools."""

    tools: list[McpTool]


class McpServerRemoved(Shape):
    """That it is gone."""

    id: UUID


@translated()
def mcp_servers(actor: Actor) -> list[ServerRow]:
    """The servers of the workspace by name."""
    require(actor, "read")
    return queries.servers(actor.workspace)


@translated()
def mcp_server(actor: Actor, server_id: UUID) -> tuple[ServerRow, list[ToolRow]]:
    """A server and its tools."""
    require(actor, "read")
    return queries.server(server_id, workspace=actor.workspace), queries.tools(server_id)


def list_mcp_servers(actor: Actor) -> McpServerList:
    """The servers for the wire."""
    return McpServerList(results=[McpServer.of(row) for row in mcp_servers(actor)])


def one_mcp_server(actor: Actor, server_id: UUID) -> McpServerDetail:
    """A server and its tools for the wire."""
    row, tools = mcp_server(actor, server_id)
    return McpServerDetail.of(row, tools=[McpTool.model_validate(tool) for tool in tools])


def add_mcp_server(actor: Actor, wanted: AddMcpServer) -> McpServer:
    """Enter a server; its tools are unknown until it is asked for them."""
    row = changes.add(actor.workspace, wanted.name, wanted.wanted(), actor=actor.id)
    return McpServer.of(row)


def change_mcp_server(actor: Actor, wanted: ChangeMcpServer, server_id: UUID) -> McpServer:
    """Give a server other values; with another address its tools have to be accepted anew."""
    row = changes.change(server_id, wanted.wanted(), workspace=actor.workspace, actor=actor.id)
    return McpServer.of(row)


def remove_mcp_server(actor: Actor, _: Nothing, server_id: UUID) -> McpServer:
    """Take a server away; what it was. What was called through it stays on record."""
    return McpServer.of(changes.remove(server_id, workspace=actor.workspace, actor=actor.id))


def list_mcp_tools(actor: Actor, _: Nothing, server_id: UUID) -> McpServerDetail:
    """Ask a server for its tools now, and note what is new or has changed."""
    row = queries.server(server_id, workspace=actor.workspace)
    changes.note_listed(row, listed_tools(row), actor=actor.id)
    return one_mcp_server(actor, server_id)


def accept_mcp_tools(actor: Actor, wanted: AcceptMcpTools, server_id: UUID) -> McpServerDetail:
    """Accept definitions of tools: those whose hash was seen, or all as listed now."""
    changes.accept(server_id, wanted.tools, workspace=actor.workspace, actor=actor.id)
    return one_mcp_server(actor, server_id)


def set_mcp_tool_mode(actor: Actor, wanted: SetMcpToolMode, server_id: UUID) -> McpTool:
    """Say what decides about a tool's calls: policies, people each time, or nobody may call it."""
    row = changes.set_mode(
        server_id, wanted.tool, wanted.mode, workspace=actor.workspace, actor=actor.id
    )
    return McpTool.model_validate(row)


def waiting_of(server: McpServerDetail) -> list[McpTool]:
    """The tools that an admin has to accept, and can."""
    return [tool for tool in server.tools if tool.state == "changed" or _is_new(tool)]


def _is_new(tool: McpTool) -> bool:
    return tool.state == "new" and not tool.fault


def command_words(path: str, text: str) -> list[str]:
    """A program and its arguments, as a shell reads them; raises Invalid."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Invalid(path, "has a quotation mark without its end") from error


def _server_named(actor: Actor, name: str) -> UUID:
    with translated():
        return queries.server_named(name, workspace=actor.workspace).id


def _changed(wanted: ChangeMcpServer, server: McpServer) -> str:
    if wanted.model_fields_set == {"active"}:
        return f"{server.name} is switched {'on' if server.active else 'off'}."
    return f"{server.name} is changed."


def _listed(_: Nothing, server: McpServerDetail) -> str:
    return f"{counted(len(server.tools), 'tool')} known, {len(waiting_of(server))} to accept."


def _accepted(wanted: AcceptMcpTools, _: McpServerDetail) -> str:
    return f"Accepted: {'all' if wanted.tools is None else ', '.join(wanted.tools)}."


SERVER: Final = Target(name="name", find=_server_named, metavar="NAME", help="a-z, 0-9 and -")
ADD: Final = Action(
    name="mcp_server.add",
    right="mcp",
    takes=AddMcpServer,
    answers=McpServer,
    status=201,
    perform=add_mcp_server,
    events=(Kind.MCP_SERVER_ADDED,),
    summary="Add an MCP server",
    description="Its tools can be called once they were listed and accepted.",
    help="adds a server; clients reach it at /mcp/NAME/",
    done=lambda _, server: f"{server.name} is added. Refresh its tools, then accept them.",
    examples="mcp add files --command 'npx @modelcontextprotocol/server-filesystem /data'",
)
CHANGE: Final = Action(
    name="mcp_server.change",
    right="mcp",
    target=SERVER,
    takes=ChangeMcpServer,
    answers=McpServer,
    perform=change_mcp_server,
    events=(Kind.MCP_SERVER_CHANGED,),
    summary="Change an MCP server",
    description="With another address or command its tools have to be accepted again.",
    help="changes a server",
    done=_changed,
    examples="mcp change files --no-active",
)
REMOVE: Final = Action(
    name="mcp_server.remove",
    right="mcp",
    target=SERVER,
    takes=Nothing,
    answers=McpServerRemoved,
    perform=remove_mcp_server,
    shape=lambda server, _: McpServerRemoved(id=server.id),
    events=(Kind.MCP_SERVER_REMOVED,),
    summary="Remove an MCP server",
    description="What was called through it stays on record.",
    help="removes a server; what was called stays on record",
    done=lambda _, server: f"{server.name} is removed. Its past calls stay on record.",
)
TOOLS: Final = Action(
    name="mcp_server.tools",
    right="mcp",
    target=SERVER,
    takes=Nothing,
    answers=McpServerDetail,
    perform=list_mcp_tools,
    events=(Kind.MCP_TOOL_LISTED,),
    summary="Ask an MCP server for its tools",
    description="New tools and changed definitions are noted; each has to be accepted.",
    help="asks a server for its tools",
    done=_listed,
)
ACCEPT: Final = Action(
    name="mcp_server.accept",
    right="mcp",
    target=SERVER,
    takes=AcceptMcpTools,
    answers=McpServerDetail,
    perform=accept_mcp_tools,
    events=(Kind.MCP_TOOL_ACCEPTED,),
    summary="Accept definitions of tools",
    description="409 where a definition is another one by now than was seen.",
    help="accepts definitions of tools as they are listed",
    done=_accepted,
)
MODE: Final = Action(
    name="mcp_server.mode",
    right="mcp",
    target=SERVER,
    takes=SetMcpToolMode,
    answers=McpTool,
    perform=set_mcp_tool_mode,
    events=(Kind.MCP_TOOL_CHANGED,),
    summary="Say what decides about a tool's calls",
    description="For the very next call.",
    help="says what decides about a tool's calls",
    done=lambda _, tool: f"{tool.name} is set to “{tool.mode}”.",
    examples="mcp mode github delete_repo refuse",
)
ALL: Final = reading(
    "mcp_servers_list", McpServerList, list_mcp_servers, summary="List", description="By name."
)
ONE: Final = reading(
    "mcp_servers_retrieve",
    McpServerDetail,
    one_mcp_server,
    summary="A server and its tools",
    description="With what an admin has not accepted yet.",
    refused=(404,),
)


# --- command --------------------------------------------------------------------------------------


def _list(command: PersonalCommand) -> None:
    actor = command.actor("read")
    shown = list_mcp_servers(actor)
    command.show(shown, _servers(shown.results, queries.waiting(actor.workspace)))
    if not shown.results:
        command.say("There are no MCP servers.")


# Tools are named alone, and accepted as the server lists them at this moment: written by hand.
def _accept(command: PersonalCommand) -> None:
    o, actor = command.options, command.actor(ACCEPT.right)
    server = _server_named(actor, o["name"])
    tools = None
    if o["tool"]:
        known = {tool.name: tool.listed_hash for tool in queries.tools(server)}
        tools = {name: known.get(name, "?") for name in o["tool"]}
    wanted = read(AcceptMcpTools, {"tools": tools})
    shown = ACCEPT.run(actor, wanted, server)
    _show_tools(command, actor, shown)
    command.say(ACCEPT.done(wanted, shown))


def _show(command: PersonalCommand, _: Actor, server: McpServer, *__: UUID) -> None:
    values = [
        ("id", server.id),
        ("name", server.name),
        ("address", f"/mcp/{server.name}/"),
        ("server", _address(server)),
        ("credential", server.credential or "none"),
        ("active", "yes" if server.active else "no"),
        ("refused", server.refusal or "no"),
        *((group, getattr(server, group)) for group in GROUPS),
    ]
    command.show(server, facts(f"MCP server {server.name}", values))


def _show_tools(command: PersonalCommand, _: Actor, server: McpServerDetail, *__: UUID) -> None:
    command.show(server, _tools(server.tools))
    if waiting := len(waiting_of(server)):
        command.say(f"{waiting} of them have to be accepted: mcp accept {server.name}")


def _show_tool(command: PersonalCommand, _: Actor, tool: McpTool, *__: UUID) -> None:
    command.show(tool, _tools([tool]))


def _address(server: McpServer) -> str:
    return server.url or shlex.join(server.command)


def _servers(rows: list[McpServer], waiting: dict[UUID, int]) -> Table:
    return table(
        "MCP servers",
        ("name", "server", "credential", "active", "to accept", "refused", "id"),
        (
            (
                *(row.name, _address(row), row.credential or "none"),
                *("yes" if row.active else "no", waiting.get(row.id, 0), row.refusal),
                str(row.id),
            )
            for row in rows
        ),
    )


def _tools(rows: list[McpTool]) -> Table:
    return table(
        "Tools",
        ("name", "state", "changed", "decides", "fault"),
        ((row.name, row.state, ", ".join(row.changed), row.mode, row.fault) for row in rows),
    )


def _accept_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar=SERVER.metavar, help=SERVER.help)
    parser.add_argument("tool", nargs="*", metavar="TOOL", help="these only; else all")


def _command_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--command", dest="command_line", metavar="WORDS", help="the program, over stdio"
    )


def _command_words(options: dict[str, Any]) -> dict[str, Any]:
    text = options["command_line"]
    return {} if text is None else {"command": command_words("--command", text)}


NAMES: Final = {
    "url": ("--url", "URL"),
    "credential": ("--credential", "SECRET"),
    "credential_to": ("--credential-to", "NAME"),
}
PROGRAM: Final = (_command_option, _command_words)
VERBS: Final = (
    Verb("list", "lists the MCP servers of the workspace", _list),
    verb(
        ADD,
        _show,
        names={"name": ("name", "NAME"), **NAMES},
        without=("command", "active"),
        beside=PROGRAM,
    ),
    verb(CHANGE, _show, names=NAMES, without=("command",), beside=PROGRAM),
    verb(REMOVE, _show),
    verb(TOOLS, _show_tools),
    Verb("accept", ACCEPT.help, _accept, _accept_arguments, ACCEPT.examples, ACCEPT.name),
    verb(MODE, _show_tool, names={"tool": ("tool", "TOOL"), "mode": ("mode",)}),
)
