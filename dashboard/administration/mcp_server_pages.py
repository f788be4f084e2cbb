"""MCP servers among the records: added, changed, removed; their tools accepted and bounded.

Auditors read these pages, admins change what they say; each change goes through `actions`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from checkpoints.outbound import bound_secrets
from dashboard.errors import ActionError, Forbidden, Missing
from dashboard.fields.shapes import Field, Option
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.definitions import GROUPS, PARTS
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.kit.action import Action, read
from dashboard.kit.inputs import declared, from_texts, opened_on, opened_text
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, flash
from dashboard.kit.pages.forms import posted, problems_of
from dashboard.kit.pages.record_pages import actor, page, pressed
from dashboard.models import MODES

from .mcp_servers import (
    ACCEPT,
    ADD,
    CHANGE,
    MODE,
    REMOVE,
    TOOLS,
    AddMcpServer,
    ChangeMcpServer,
    command_words,
    mcp_server,
    mcp_servers,
)

ROOM = "administration"
MODE_LABELS = {"policies": "Policies decide", "ask": "Ask each time", "refuse": "Refuse"}
MODE_OPTIONS = {group: [Option(*pair) for pair in MODE_LABELS.items()] for group in GROUPS}
HELPS = {
    "name": "Letters a to z, digits and hyphens. Clients reach the server at /mcp/NAME/.",
    "url": "The server’s address for streamable HTTP, such as https://example.org/mcp.",
    "credential_to": "The HTTP header (Authorization if empty), or the variable that the program "
    "reads.",
    "resources": "Decides what happens when a client lists, reads or subscribes to resources. "
    "Each request is on record.",
    "prompts": "Decides what happens when a client lists or gets prompts. Each request is on "
    "record.",
    "completions": "Decides what happens when a client asks the server to complete a value. "
    "Each request is on record.",
}
STATES = {"changed": 0, "new": 1, "accepted": 2}


@takes()
def index(request: HttpRequest) -> HttpResponse:
    """All servers, and how many of their tools have to be accepted."""
    who = actor(request)
    waiting = queries.waiting(who.workspace)
    servers = [
        {
            "row": row,
            "at": _address(row),
            "waiting": waiting.get(row.id, 0),
            "refusal": refusal(row),
        }
        for row in mcp_servers(who)
    ]
    return _page(request, f"{ROOM}/mcp_servers.html", "MCP servers", {"servers": servers})


def add(request: HttpRequest) -> HttpResponse:
    """A new server."""
    return _form(request, None)


@takes()
def server(request: HttpRequest, server_id: UUID) -> HttpResponse:
    """One server with its tools: what is new or has changed comes first."""
    row, tools = _known(request, server_id)
    names = people(tool.accepted_by for tool in tools if tool.accepted_by)
    shown = [
        {
            "row": tool,
            "by": names.get(tool.accepted_by, tool.accepted_by),
            "facts": _facts(tool.accepted or tool.listed),
            "changes": _changes(tool),
        }
        for tool in sorted(tools, key=lambda tool: (STATES[tool.state], tool.name))
    ]
    address = f"{settings.GATEPOST_BASE_URL.rstrip('/')}/mcp/{row.name}/"
    context = {
        "row": row,
        "refusal": refusal(row),
        "at": _address(row),
        "address": address,
        "reads": [(group, MODE_LABELS[mode]) for group, mode in row.modes.items()],
        "tools": shown,
        "waiting": [tool for tool in tools if tool.is_waiting],
        "modes": MODES,
    }
    return _page(request, f"{ROOM}/mcp_server.html", f"MCP server {row.name}", context)


def change(request: HttpRequest, server_id: UUID) -> HttpResponse:
    """Change a server."""
    return _form(request, _known(request, server_id)[0])


def _form(request: HttpRequest, row: ServerRow | None) -> HttpResponse:
    """The form of a server; what is refused comes back as it was written."""
    who, problems, status = actor(request), dict[str, str](), 200
    texts = posted(request)
    opened = opened_on(ChangeMcpServer, texts, _opened(row)) if row else {}
    if request.method == "POST":
        try:
            return _saved(request, who, row, _wanted(texts, opened))
        except (Forbidden, Missing):
            raise
        except ActionError as error:
            problems, status = problems_of(error), error.status
    context = {
        "row": row,
        "declared": _declared(who, texts, problems, opened),
        "opened": opened_text(opened),
        "errors": problems,
    }
    title = f"Change {row.name}" if row else "New MCP server"
    return _page(request, f"{ROOM}/mcp_server_form.html", title, context, status=status)


def _saved(
    request: HttpRequest, who: Actor, row: ServerRow | None, values: Mapping[str, Any]
) -> HttpResponse:
    if row:
        wanted = read(ChangeMcpServer, values)
        server = CHANGE.run(who, wanted, row.id)
        flash(request, CHANGE.done(wanted, server))
    else:
        added = read(AddMcpServer, values)
        server = ADD.run(who, added)
        flash(request, ADD.done(added, server))
    return SeeOther(_url(server.id))


def _button(
    action: Action[Any, Any], values: Callable[[QueryDict], dict[str, Any]] = lambda _: {}
) -> Callable[..., HttpResponse]:
    """A POST that leads back to the server with what was done, or why it was not."""

    @require_POST
    def button(request: HttpRequest, server_id: UUID) -> HttpResponse:
        def act() -> str:
            wanted = read(action.takes, values(request.POST))
            return action.done(wanted, action.run(actor(request), wanted, server_id))

        back = reverse("admin:mcp_servers") if action is REMOVE else _url(server_id)
        return pressed(request, act, back)

    return button


def _seen(form: QueryDict) -> dict[str, Any]:
    """The definitions that the page showed, named by their hashes."""
    pairs = [item.partition(":") for item in form.getlist("tool")]
    return {"tools": {name: digest for digest, _, name in pairs}}


switch = _button(CHANGE, lambda form: {"active": form.get("active") == "1"})
tools = _button(TOOLS)
accept = _button(ACCEPT, _seen)
mode = _button(MODE, lambda form: {name: form.get(name, "") for name in ("tool", "mode")})
remove = _button(REMOVE)


def _known(request: HttpRequest, server_id: UUID) -> tuple[ServerRow, list[ToolRow]]:
    try:
        return mcp_server(actor(request), server_id)
    except Missing as error:
        raise Http404 from error


def _opened(row: ServerRow) -> dict[str, Any]:
    """The values that the form of a server is opened on."""
    own = ("url", "credential", "credential_to")
    values = {name: getattr(row, name) for name in own}
    return {**values, "command": list(row.command), **row.modes}


def _declared(
    who: Actor, texts: Mapping[str, str], problems: Mapping[str, str], opened: Mapping[str, Any]
) -> dict[str, Field]:
    """The inputs of the form; a program and its arguments are written as in a shell."""
    names = [name for name in AddMcpServer.model_fields if name != "active"]
    shown = declared(AddMcpServer, names, texts, problems, MODE_OPTIONS, opened)
    line = texts.get("command", shlex.join(opened.get("command", ())))
    helps = {"command": _program_help(), "credential": _credential_help(who), **HELPS}
    shown = {name: replace(one, help=helps[name]) for name, one in shown.items()}
    return shown | {
        "url": replace(shown["url"], kind="text", attrs={"inputmode": "url"}),
        "command": replace(shown["command"], kind="text", value=line),
    }


def _program_help() -> str:
    if programs := settings.GATEPOST_MCP_COMMANDS:
        return f"A program that uses stdio. It starts with {', '.join(programs)}."
    return (
        "No program may be started here. The person who runs Gatepost lists programs in "
        "GATEPOST_MCP_COMMANDS."
    )


def _credential_help(who: Actor) -> str:
    text = (
        "No secret is listed for this workspace. The person who runs Gatepost lists them in "
        "GATEPOST_WORKSPACE_SECRETS."
    )
    if names := bound_secrets.names_of(who.workspace_name):
        text = f"The name of a secret of this workspace: {', '.join(names)}."
    return (
        f"{text} Each goes to the places that are listed with it. The secret itself is never "
        "stored or shown."
    )


def _wanted(texts: Mapping[str, str], opened: Mapping[str, Any]) -> dict[str, Any]:
    """The input that the form gives; raises Invalid."""
    words = command_words("$.command", texts.get("command", ""))
    shape = ChangeMcpServer if opened else AddMcpServer
    values = from_texts(shape, {**texts, "command": ""}, {**opened, "command": []})
    return values if words == list(opened.get("command", ())) else values | {"command": words}


def _address(row: ServerRow) -> str:
    return row.url or shlex.join(row.command)


def _facts(definition: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The parts of a definition below its name, as they are shown."""
    return [(part, _text(definition[part])) for part in PARTS[1:] if part in definition]


def _changes(tool: ToolRow) -> list[tuple[str, str | None, str | None]]:
    """(part, accepted, listed) of each part that an admin has not accepted."""
    accepted = tool.accepted or {}
    return [
        (part, _text(accepted.get(part)), _text(tool.listed.get(part))) for part in tool.changed
    ]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def _url(server_id: UUID) -> str:
    return reverse("admin:mcp_server", args=[server_id])


def _page(
    request: HttpRequest, template: str, title: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    context["may_change"] = may(actor(request), "mcp")
    return page(request, template, title, context, status=status)
