"""MCP servers among the records: added, changed, removed; their tools accepted and bounded.

Auditors read these pages, admins change what they say; each change goes through `actions`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from checkpoints.outbound import bound_secrets
from dashboard.errors import ActionError, Forbidden, Invalid, Missing
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.definitions import GROUPS, PARTS
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.kit.action import Action, read
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, flash, flash_refusal, words_of
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
FIELDS = ("url", "command", "credential", "credential_to", *GROUPS)
MODE_LABELS = {"policies": "Policies decide", "ask": "Ask each time", "refuse": "Refuse"}
STATES = {"changed": 0, "new": 1, "accepted": 2}


@takes()
def index(request: HttpRequest) -> HttpResponse:
    """All servers, and how many of their tools have to be accepted."""
    who = _actor(request)
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
    who, problem, status = _actor(request), "", 200
    values = {name: request.POST.get(name, "").strip() for name in ("name", *FIELDS)}
    if request.method == "POST":
        try:
            if row:
                wanted = read(ChangeMcpServer, _wanted(values))
                message = CHANGE.done(wanted, CHANGE.run(who, wanted, row.id))
                ident = row.id
            else:
                added = read(AddMcpServer, {"name": values["name"], **_wanted(values)})
                made = ADD.run(who, added)
                ident, message = made.id, ADD.done(added, made)
        except Invalid as error:
            problem, status = words_of(error), error.status
        else:
            flash(request, message)
            return SeeOther(_url(ident))
    elif row:
        values = _values(row)
    context = {
        "row": row,
        "values": values,
        "modes": _modes(values),
        "programs": settings.GATEPOST_MCP_COMMANDS,
        "secrets": bound_secrets.names_of(who.workspace_name),
        "problem": problem,
    }
    title = f"Change {row.name}" if row else "New MCP server"
    return _page(request, f"{ROOM}/mcp_server_form.html", title, context, status=status)


def _button(
    action: Action[Any, Any], values: Callable[[QueryDict], dict[str, Any]] = lambda _: {}
) -> Callable[..., HttpResponse]:
    """A POST that leads back to the server with what was done, or why it was not."""

    @require_POST
    def pressed(request: HttpRequest, server_id: UUID) -> HttpResponse:
        try:
            wanted = read(action.takes, values(request.POST))
            flash(request, action.done(wanted, action.run(_actor(request), wanted, server_id)))
        except Forbidden:
            raise
        except Missing as error:
            raise Http404 from error
        except ActionError as error:
            flash_refusal(request, error)
        return SeeOther(reverse("admin:mcp_servers") if action is REMOVE else _url(server_id))

    return pressed


def _seen(form: QueryDict) -> dict[str, Any]:
    """The definitions that the page showed, named by their hashes."""
    pairs = [item.partition(":") for item in form.getlist("tool")]
    return {"tools": {name: digest for digest, _, name in pairs}}


switch = _button(CHANGE, lambda form: {"active": form.get("active") == "1"})
tools = _button(TOOLS)
accept = _button(ACCEPT, _seen)
mode = _button(MODE, lambda form: {name: form.get(name, "") for name in ("tool", "mode")})
remove = _button(REMOVE)


def _actor(request: HttpRequest) -> Actor:
    return cast(Actor, cast(Any, admin.site).member(request).actor)


def _known(request: HttpRequest, server_id: UUID) -> tuple[ServerRow, list[ToolRow]]:
    try:
        return mcp_server(_actor(request), server_id)
    except Missing as error:
        raise Http404 from error


def _values(row: ServerRow) -> dict[str, str]:
    return {
        "name": row.name,
        "url": row.url,
        "command": shlex.join(row.command),
        "credential": row.credential,
        "credential_to": row.credential_to,
        **row.modes,
    }


def _modes(values: Mapping[str, str]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(field, mode, choices) of what a server has beside tools."""
    return [(group, values[group] or MODES[0], list(MODE_LABELS.items())) for group in GROUPS]


def _wanted(values: Mapping[str, str]) -> dict[str, Any]:
    """The input that the form gives; raises Invalid."""
    chosen = {name: values[name] for name in FIELDS if name not in GROUPS or values[name]}
    return chosen | {"command": command_words("$.command", values["command"])}


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
    everything = {
        **admin.site.each_context(request),
        "title": title,
        "may_change": may(_actor(request), "mcp"),
        **context,
    }
    return render(request, template, everything, status=status)
