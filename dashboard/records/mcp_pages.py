"""MCP servers among the records: added, changed, removed; their tools accepted and bounded.

Auditors read these pages, admins change what they say; each change goes through `actions`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from checkpoints.outbound import bound_secrets
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
from dashboard.errors import ActionError, Forbidden, Invalid, Missing
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.registry.definitions import GROUPS, MODES, PARTS
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, flash, flash_refusal, words_of
from dashboard.wording.savings import counted

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
    return _page(request, "gateway/servers.html", "MCP servers", {"servers": servers})


def add(request: HttpRequest) -> HttpResponse:
    """A new server."""
    values = _posted(request)
    context: dict[str, Any] = {
        "values": values,
        "modes": _modes(values),
        "programs": settings.GATEPOST_MCP_COMMANDS,
        "secrets": bound_secrets.names_of(_actor(request).workspace_name),
    }
    status = 200
    if request.method == "POST":
        try:
            row = add_mcp_server(_actor(request), values["name"], _wanted(values))
        except Invalid as error:
            context["problem"], status = words_of(error), error.status
        else:
            flash(request, f"{row.name} is added. Refresh its tools, then accept them.")
            return SeeOther(_url(row.id))
    return _page(request, "gateway/server_form.html", "New MCP server", context, status=status)


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
    return _page(request, "gateway/server.html", f"MCP server {row.name}", context)


def change(request: HttpRequest, server_id: UUID) -> HttpResponse:
    """Change a server."""
    row, _ = _known(request, server_id)
    values = _posted(request) if request.method == "POST" else _values(row)
    context: dict[str, Any] = {
        "row": row,
        "values": values,
        "modes": _modes(values),
        "programs": settings.GATEPOST_MCP_COMMANDS,
        "secrets": bound_secrets.names_of(_actor(request).workspace_name),
    }
    status = 200
    if request.method == "POST":
        try:
            change_mcp_server(_actor(request), server_id, _wanted(values))
        except Invalid as error:
            context["problem"], status = words_of(error), error.status
        else:
            flash(request, f"{row.name} is changed.")
            return SeeOther(_url(server_id))
    return _page(request, "gateway/server_form.html", f"Change {row.name}", context, status=status)


def _button(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A POST that leads back to the server with what was done, or why it was not."""

    @require_POST
    @wraps(view)
    def pressed(request: HttpRequest, server_id: UUID) -> HttpResponse:
        try:
            flash(request, view(request, server_id))
        except Forbidden:
            raise
        except Missing as error:
            raise Http404 from error
        except ActionError as error:
            flash_refusal(request, error)
        return SeeOther(_url(server_id))

    return pressed


@_button
def switch(request: HttpRequest, server_id: UUID) -> str:
    """Let clients reach it, or not."""
    wanted = Wanted(active=request.POST.get("active") == "1")
    row = change_mcp_server(_actor(request), server_id, wanted)
    return f"{row.name} is switched {'on' if row.active else 'off'}."


@_button
def tools(request: HttpRequest, server_id: UUID) -> str:
    """Ask it for its tools."""
    rows = list_mcp_tools(_actor(request), server_id)
    waiting = sum(row.is_waiting for row in rows)
    return f"{counted(len(rows), 'tool')} known, {waiting} to accept."


@_button
def accept(request: HttpRequest, server_id: UUID) -> str:
    """Accept the definitions that the page showed, named by their hashes."""
    pairs = [item.partition(":") for item in request.POST.getlist("tool")]
    seen = {name: digest for digest, _, name in pairs}
    accept_mcp_tools(_actor(request), server_id, seen)
    return f"Accepted: {', '.join(seen)}."


@_button
def mode(request: HttpRequest, server_id: UUID) -> str:
    """Set what decides about a tool's calls."""
    tool, wanted = request.POST.get("tool", ""), request.POST.get("mode", "")
    set_mcp_tool_mode(_actor(request), server_id, tool, wanted)
    return f"{tool} is set to “{wanted}”."


@require_POST
def remove(request: HttpRequest, server_id: UUID) -> HttpResponse:
    """Remove a server with its tools."""
    row, _ = _known(request, server_id)
    remove_mcp_server(_actor(request), server_id)
    flash(request, f"{row.name} is removed. Its past calls stay on record.")
    return SeeOther(reverse("admin:mcp_servers"))


def _actor(request: HttpRequest) -> Actor:
    return cast(Actor, cast(Any, admin.site).member(request).actor)


def _known(request: HttpRequest, server_id: UUID) -> tuple[ServerRow, list[ToolRow]]:
    try:
        return mcp_server(_actor(request), server_id)
    except Missing as error:
        raise Http404 from error


def _posted(request: HttpRequest) -> dict[str, str]:
    return {name: request.POST.get(name, "").strip() for name in ("name", *FIELDS)}


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


def _wanted(values: Mapping[str, str]) -> Wanted:
    try:
        words = shlex.split(values["command"])
    except ValueError as error:
        raise Invalid("command", "has a quotation mark without its end") from error
    return Wanted(
        url=values["url"],
        command=words,
        credential=values["credential"],
        credential_to=values["credential_to"],
        resources=values["resources"] or None,
        prompts=values["prompts"] or None,
        completions=values["completions"] or None,
    )


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
