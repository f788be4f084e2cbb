"""The only writer of MCP servers and their tools.

Each verb is one transaction with its event in the workspace's log. Secrets are never here: a server
names the secret that it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, JSONField, QuerySet, Value
from django.db.models.functions import Cast, Now

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.outbound import addresses, bound_secrets
from checkpoints.outbound.own_secrets import is_own
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows
from dashboard.models import MODES, TRANSPORTS, McpServer, McpTool

from . import queries
from .definitions import GROUPS, definition_of, hash_of
from .queries import ServerRow, ToolRow

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
CREDENTIAL: Final = re.compile(r"GATEPOST_SECRET_[A-Z0-9_]{1,80}")
CARRIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
URL_MAX: Final = 500
WORDS_MAX: Final = 50
SERVERS_MAX: Final = 200
NAMES: Final = ("url", "command", "credential", "credential_to", "active", *GROUPS)
TOOLS_MAX: Final = 1_000


# Of a tool that has to be accepted anew.
FORGOTTEN: Final = {"accepted": None, "accepted_hash": "", "accepted_by": ""}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Values for a server; None leaves one as it is (or empty, of a new one)."""

    url: str | None = None
    command: Sequence[str] | None = None
    credential: str | None = None
    credential_to: str | None = None
    active: bool | None = None
    resources: str | None = None
    prompts: str | None = None
    completions: str | None = None


def add(workspace: UUID, name: str, wanted: Wanted, *, actor: str) -> ServerRow:
    """Enter a server; raises InvalidValue."""
    if not NAME.fullmatch(name):
        raise InvalidValue("name", "takes 1 to 40 of a-z, 0-9 and -, and begins with no -")
    row = McpServer(workspace_id=workspace, name=name, made_by=actor)
    values = _values(row, wanted)
    with transaction.atomic():
        store.lock_workspaces([workspace])  # nobody adds another one between look and insert
        servers = queries.servers(workspace)
        if any(server.name == name for server in servers):
            raise InvalidValue("name", "is the name of another MCP server")
        if len(servers) >= SERVERS_MAX:
            raise InvalidValue("name", f"a workspace has at most {SERVERS_MAX} MCP servers")
        _save(K.MCP_SERVER_ADDED, row, values, row, actor, transport=values["transport"])
        return _checked(row)


def change(ident: UUID, wanted: Wanted, *, workspace: UUID, actor: str) -> ServerRow:
    """Give a server other values; its tools have to be accepted anew where it is another one.

    Raises NotFound, InvalidValue.
    """
    with transaction.atomic():
        row = recorded_rows.lock_one(McpServer, workspace, ident)
        values = _values(row, wanted)
        changed = {
            name: [getattr(row, name), value]
            for name, value in values.items()
            if name != "transport" and getattr(row, name) != value
        }
        # Another address or command is another server, whatever it lists.
        others = (_tools(row), FORGOTTEN) if {"url", "command"} & changed.keys() else None
        _save(K.MCP_SERVER_CHANGED, row, values, row, actor, others=others, changed=changed)
        if {"url", "command", "credential"} & changed.keys():
            return _checked(row)
        return queries.server(ident, workspace=workspace)


def remove(ident: UUID, *, workspace: UUID, actor: str) -> ServerRow:
    """Take a server and its tools away; what it was. Threads keep what they recorded.

    Raises NotFound.
    """
    with transaction.atomic():
        store.lock_workspaces([workspace])  # and with it each of its servers
        server = queries.server(ident, workspace=workspace)
        row = McpServer(id=ident, workspace_id=workspace)
        data = {"server": str(ident), "name": server.name}
        kind = K.MCP_SERVER_REMOVED
        recorded_rows.delete(row, kind, actor=actor, data=data, others=_tools(row))
        return server


def note_listed(server: ServerRow, listed: Sequence[Any], *, actor: str) -> None:
    """Record which tools the server lists, where one is new or has another definition.

    A tool that is no longer listed stays as it is. Raises InvalidValue.
    """
    known = {tool.name: tool for tool in queries.tools(server.id)}
    definitions = {d["name"]: d for d in map(definition_of, listed)}
    if not _differing(definitions, known):
        return
    with transaction.atomic():
        row = recorded_rows.lock_one(McpServer, server.workspace, server.id)
        known = {tool.name: tool for tool in queries.tools(server.id)}
        if len(known.keys() | definitions.keys()) > TOOLS_MAX:
            raise InvalidValue("tools", f"are more than {TOOLS_MAX:,}")
        for name in _differing(definitions, known):
            _note(row, definitions[name], known.get(name), actor)


def _differing(definitions: Mapping[str, Any], known: Mapping[str, ToolRow]) -> list[str]:
    return [
        name
        for name, definition in definitions.items()
        if name not in known or known[name].listed_hash != hash_of(definition)
    ]


def _note(
    server: McpServer, definition: Mapping[str, Any], former: ToolRow | None, actor: str
) -> None:
    name = definition["name"]
    tool = (
        _model_of(former, server)
        if former
        else McpTool(workspace_id=server.workspace_id, server=server, name=name)
    )
    values: dict[str, Any] = {"listed": _as_is(definition), "listed_hash": hash_of(definition)}
    state, changed = "new", list[str]()
    if former:
        now = replace(former, listed=definition, listed_hash=values["listed_hash"])
        state, changed = now.state, now.changed
    more = {"tool": name, "state": state, "changed": changed}
    _save(K.MCP_TOOL_LISTED, tool, values, server, actor, also={"listed_at": Now()}, **more)


def accept(ident: UUID, names: Mapping[str, str] | None, *, workspace: UUID, actor: str) -> None:
    """Accept definitions as they are listed: {tool: hash that the admin saw}, None for all.

    One that is new and whose name is none is refused, and left out of all. Raises NotFound,
    InvalidValue, NotAllowedNow where a definition is another one by now.
    """
    with transaction.atomic():
        server = recorded_rows.lock_one(McpServer, workspace, ident)
        rows = {tool.name: tool for tool in queries.tools(ident)}
        every = {name: tool.listed_hash for name, tool in rows.items() if tool.is_waiting}
        wanted = every if names is None else names
        for name, digest in wanted.items():
            row = rows.get(name)
            if row is None:
                raise NotFound(f"{server.name} lists no tool named {name!r}.")
            if row.listed_hash != digest:
                raise NotAllowedNow(
                    f"{name!r} changed again since you looked. Look at it once more.", status=""
                )
            if row.state == "accepted":
                continue
            if not row.is_waiting:
                raise InvalidValue("tools", f"names one that is not offered: {row.fault}")
            values = {
                "accepted": F("listed"),
                "accepted_hash": digest,
                "accepted_by": actor,
            }
            more: dict[str, Any] = {"tool": name, "definition": digest}
            _save(K.MCP_TOOL_ACCEPTED, _model_of(row, server), values, server, actor, **more)


def set_mode(ident: UUID, name: str, mode: str, *, workspace: UUID, actor: str) -> ToolRow:
    """Say what a tool may do; raises NotFound, InvalidValue."""
    if mode not in MODES:
        raise InvalidValue("mode", f"must be one of {', '.join(MODES)}")
    with transaction.atomic():
        server = recorded_rows.lock_one(McpServer, workspace, ident)
        row = _known(ident, name)
        more: dict[str, Any] = {"tool": name, "mode": [row.mode, mode]}
        _save(K.MCP_TOOL_CHANGED, _model_of(row, server), {"mode": mode}, server, actor, **more)
        return _known(ident, name)


# --- values ---------------------------------------------------------------------------------------


def _values(row: McpServer, wanted: Wanted) -> dict[str, Any]:
    """The values of a server after this; raises InvalidValue."""
    values = {name: getattr(row, name) for name in NAMES}
    chosen = {name: value for name, value in asdict(wanted).items() if value is not None}
    values |= chosen
    if "url" in chosen:
        values["url"] = _url(chosen["url"].strip())
    if "command" in chosen:
        values["command"] = _command(chosen["command"])
    if bool(values["url"]) is bool(values["command"]):
        raise InvalidValue("url", "or a command is needed, and not both")
    if chosen.get("credential"):
        if not CREDENTIAL.fullmatch(chosen["credential"]):
            raise InvalidValue("credential", "names a secret: GATEPOST_SECRET_ and A-Z, 0-9, _")
        if is_own(chosen["credential"]):
            raise InvalidValue("credential", "names a setting of Gatepost itself: choose another")
    if chosen.get("credential_to") and not CARRIER.fullmatch(chosen["credential_to"]):
        raise InvalidValue("credential_to", "names a header, or a variable of the program")
    if values["command"] and values["credential"] and not values["credential_to"]:
        raise InvalidValue("credential_to", "is needed: the variable that the program reads")
    for group in GROUPS:
        if group in chosen and chosen[group] not in MODES:
            raise InvalidValue(group, f"must be one of {', '.join(MODES)}")
    return values | {"transport": TRANSPORTS[1] if values["command"] else TRANSPORTS[0]}


def _url(url: str) -> str:
    deltas.check(url, "url")
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or len(url) > URL_MAX or not url.isprintable() or " " in url:
        raise InvalidValue("url", f"must be http:// or https://, of at most {URL_MAX} characters")
    if "@" in parts.netloc or parts.fragment:
        raise InvalidValue("url", "takes no password and no fragment; name a credential instead")
    if problem := problem_of(url):
        raise InvalidValue("url", problem)
    return url


def problem_of(url: str) -> str:
    """Reason that the address of a server is not called; "" where its text is sound."""
    parts = urlsplit(url)
    networks = settings.GATEPOST_MCP_NETWORKS
    if parts.scheme == "http" and not networks:
        return "must be https://: GATEPOST_MCP_NETWORKS lists no network that is called without it"
    return addresses.problem_of(parts.hostname or "", networks)


def _command(words: Sequence[str]) -> list[str]:
    deltas.check(list(words), "command")
    if not words:
        return []
    if not words[0]:
        raise InvalidValue("command", "begins with a program, and its first word is empty")
    if len(words) > WORDS_MAX or any(len(word) > URL_MAX for word in words):
        raise InvalidValue("command", f"takes at most {WORDS_MAX} words of {URL_MAX} characters")
    # An admin of a workspace is not thereby somebody who may start any program on the machine.
    if words[0] not in settings.GATEPOST_MCP_COMMANDS:
        known = ", ".join(settings.GATEPOST_MCP_COMMANDS) or "none"
        raise InvalidValue(
            "command", f"begins with a program that GATEPOST_MCP_COMMANDS lists: {known}"
        )
    return list(words)


def _checked(row: McpServer) -> ServerRow:
    """The server as it is now; raises InvalidValue where it does not get its credential."""
    server = queries.server(row.id, workspace=row.workspace_id)
    if problem := credential_problem(server):
        raise InvalidValue("credential", problem)
    return server


def credential_problem(row: ServerRow) -> str:
    """Reason that a server does not get its credential; "" where it may, or has none."""
    if not row.credential:
        return ""
    if is_own(row.credential):
        return "names a setting of Gatepost itself: choose another"
    try:
        target = bound_secrets.place_of(f"command:{row.command[0]}" if row.command else row.url)
    except ValueError:  # saved before addresses were checked
        return "has no place to go to"
    return bound_secrets.refusal(row.credential, row.workspace_name, target)


def _known(server: UUID, name: str) -> ToolRow:
    row = queries.tool(server, name)
    if row is None:
        raise NotFound(f"The server lists no tool named {name!r}.")
    return row


def _model_of(row: ToolRow, server: McpServer) -> McpTool:
    """The stored tool that was read as this row, its server locked: it is not read again."""
    tool = McpTool(
        id=row.id,
        workspace_id=server.workspace_id,
        server=server,
        name=row.name,
        mode=row.mode,
        accepted_hash=row.accepted_hash,
        accepted_by=row.accepted_by,
        listed_hash=row.listed_hash,
    )
    tool._state.adding = False
    return tool


def _tools(server: McpServer) -> QuerySet[McpTool]:
    return McpTool.objects.filter(server=server)


def _as_is(definition: Mapping[str, Any]) -> Cast:
    """A definition as it was hashed: no number of it is written otherwise."""
    return Cast(Value(deltas.canonical(dict(definition)).decode()), JSONField())


def _save(
    kind: K,
    row: McpServer | McpTool,
    values: Mapping[str, Any],
    of: McpServer,
    actor: str,
    *,
    also: Mapping[str, Any] | None = None,
    others: tuple[QuerySet[Any], Mapping[str, Any]] | None = None,
    **more: Any,
) -> None:
    data = {"server": str(of.id), "name": of.name, **more}
    # Its server is locked, and with it each tool.
    beside: dict[str, Any] = {"also": also, "others": others, "locked": True}
    recorded_rows.save(row, values, kind, actor=actor, data=data, **beside)
