"""The MCP server itself: lists and calls of tools, resources; the SDK speaks the protocol.

Imported with the first request: `mcp` is an extra, and a web process without it starts as well.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from checkpoints.state.deltas import LIMITS
from dashboard.http.body_limits import App, Message, Receive, Send
from dashboard.identity.permissions import Actor, may
from dashboard.kit.api.base import refusal_of
from dashboard.kit.shapes.problems import of_action
from gatepost_command import __version__

from . import resources
from .tools import TOOLS, Tool
from .tools.calls import Api, ApiAnswer, api_of

# Of the scope: who sends the request, and where calls of the API go.
ACTOR: Final = "gatepost.actor"
APPLICATION: Final = "gatepost.application"
INSTRUCTIONS: Final = (
    "Gatepost is the control room for AI agents. Start and follow threads of agents, keep your own "
    "state under a name (save_state, load_state), and ask people before you act: "
    "request_approval, then wait, then request_approval again. Every refusal names what is wrong "
    "with `path` and `detail`."
)


async def serve(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one POST. Each has a manager of its own: nothing is kept between two requests."""
    send_any: Any = send  # the SDK types a message as a mapping of any kind
    manager = StreamableHTTPSessionManager(
        _server(), stateless=True, max_request_body_size=LIMITS.request_bytes + 1
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send_any)


@cache
def _server() -> Server[Any]:
    return Server(
        "gatepost",
        version=__version__,
        title="Gatepost",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
    )


async def _list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    """The tools that roles and scopes of the caller open."""
    _one_page(params)
    return types.ListToolsResult(
        tools=[_described(tool.name) for tool in TOOLS.values() if _is_open(tool, _actor(ctx))]
    )


def _is_open(tool: Tool, actor: Actor) -> bool:
    return all(may(actor, right) for right in tool.rights)


@cache
def _described(name: str) -> types.Tool:
    tool = TOOLS[name]
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.effect == "reads",
            destructive_hint=tool.effect == "changes",
            idempotent_hint=tool.is_idempotent or tool.effect == "reads",
            open_world_hint=tool.effect != "reads",
        ),
    )


async def _call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer of a tool; a refusal is a result that names path and reason."""
    tool = TOOLS.get(params.name)
    if tool is None:
        message = f"There is no tool {params.name[:80]!r}; list the tools to see which there are."
        raise MCPError(types.INVALID_PARAMS, message)
    work = asyncio.ensure_future(call_tool(tool, params.arguments or {}, _api(ctx)))
    # A client that leaves ends no change half-way: a lease would be held until it expires.
    answer = await (work if tool.effect == "reads" else asyncio.shield(work))
    text = json.dumps(answer.data, ensure_ascii=False)
    if not answer.is_done:
        text = f"{answer.data['title']}. {answer.data['detail']}"
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=answer.data,
        is_error=not answer.is_done,
    )


async def call_tool(tool: Tool, arguments: dict[str, Any], api: Api) -> ApiAnswer:
    """The answer of a tool to arguments as they were sent."""
    try:
        args = tool.takes.model_validate(arguments)
    except ValidationError as error:
        problem = of_action(refusal_of(error))
        return ApiAnswer(problem["status"], problem)
    return await tool.perform(args, api)


async def _list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    """None by themselves: there are too many, and each has a template."""
    _one_page(params)
    return types.ListResourcesResult(resources=[])


async def _list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    _one_page(params)
    return types.ListResourceTemplatesResult(resource_templates=[*resources.TEMPLATES])


async def _read_resource(
    ctx: Any, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    call = resources.call_for(uri)
    if call is None:
        known = ", ".join(one.uri_template for one in resources.TEMPLATES)
        raise MCPError(
            types.INVALID_PARAMS, f"There is no such resource; the templates are {known}."
        )
    answer = await _api(ctx)(call)
    if not answer.is_done:
        raise MCPError(types.INVALID_PARAMS, str(answer.data["detail"]), answer.data)
    contents = resources.contents_of(uri, answer.data)
    if contents is None:
        size = answer.data["size"]
        raise MCPError(
            types.INVALID_PARAMS, f"The file has {size:,} bytes; read it with the tool `read_file`."
        )
    return types.ReadResourceResult(contents=[contents])


def _one_page(params: Any) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "There is one page only: send no cursor.")


def _actor(ctx: Any) -> Actor:
    actor: Actor = ctx.request.scope[ACTOR]
    return actor


def _api(ctx: Any) -> Api:
    scope = ctx.request.scope
    application: App = scope[APPLICATION]
    return api_of(application, scope)
