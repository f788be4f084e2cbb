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
from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.outbound import addresses, bound_secrets
from checkpoints.outbound.own_secrets import is_own
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from . import queries
from .definitions import GROUPS, MODES, TRANSPORTS, definition_of, hash_of
from .queries import ServerRow, ToolRow

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
CREDENTIAL: Final = re.compile(r"GATEPOST_SECRET_[A-Z0-9_]{1,80}")
CARRIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
URL_MAX: Final = 500
WORDS_MAX: Final = 50
SERVERS_MAX: Final = 200
TOOLS_MAX: Final = 1_000


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


@dataclass(frozen=True, slots=True)
class _Values:
    url: str = ""
    command: tuple[str, ...] = ()
    credential: str = ""
    credential_to: str = ""
    active: bool = True
    resources: str = "policies"
    prompts: str = "policies"
    completions: str = "policies"

    @property
    def transport(self) -> str:
        return TRANSPORTS[1] if self.command else TRANSPORTS[0]


def add(workspace: UUID, name: str, wanted: Wanted, *, actor: str) -> ServerRow:
    """Enter a server; raises InvalidValue."""
    if not NAME.fullmatch(name):
        raise InvalidValue("name", "takes 1 to 40 of a-z, 0-9 and -, and begins with no -")
    values = _applied(_Values(), wanted)
    ident = uuid7()
    with transaction.atomic():
        store.lock_workspaces([workspace])  # nobody adds another one between count and insert
        if len(queries.servers(workspace)) >= SERVERS_MAX:
            raise InvalidValue("name", f"a workspace has at most {SERVERS_MAX} MCP servers")
        added = _do(
            "INSERT INTO gp_mcp_server (id, workspace_id, name, made_by, transport, url, command, "
            "credential, credential_to, active, resources, prompts, completions) VALUES (%s::uuid, "
            "%s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::varchar, %s::jsonb, "
            "%s::varchar, %s::varchar, %s::boolean, %s::varchar, %s::varchar, %s::varchar) "
            "ON CONFLICT (workspace_id, name) DO NOTHING",
            (ident, workspace, name, actor, *_params(values)),
        )
        if not added:
            raise InvalidValue("name", "is the name of another MCP server")
        row = queries.server(ident, workspace=workspace)
        _check_credential(row)
        change = RowChange({"gp_mcp_server": [ident]})
        _log(K.MCP_SERVER_ADDED, row, actor, change, transport=values.transport)
    return row


def change(ident: UUID, wanted: Wanted, *, workspace: UUID, actor: str) -> ServerRow:
    """Give a server other values; its tools have to be accepted anew where it is another one.

    Raises NotFound, InvalidValue.
    """
    with transaction.atomic():
        row = _locked(ident, workspace)
        before = _Values(
            row.url, row.command, row.credential, row.credential_to, row.active, **row.modes
        )
        after = _applied(before, wanted)
        if after == before:
            return row
        _do(
            "UPDATE gp_mcp_server SET transport = %s::varchar, url = %s::varchar, "
            "command = %s::jsonb, credential = %s::varchar, credential_to = %s::varchar, "
            "active = %s::boolean, resources = %s::varchar, prompts = %s::varchar, "
            "completions = %s::varchar WHERE id = %s::uuid",
            (*_params(after), ident),
        )
        old, new = asdict(before), asdict(after)
        columns = [name for name in new if old[name] != new[name]]
        changed = {name: [old[name], new[name]] for name in columns}
        rows: dict[str, list[UUID]] = {"gp_mcp_server": [ident]}
        if (before.url, before.command) != (after.url, after.command):
            columns.append("transport")
            rows["gp_mcp_tool"] = _forget_accepted(ident)
            columns += ["accepted", "accepted_hash", "accepted_by"]
        if {"url", "command", "credential"} & changed.keys():
            _check_credential(queries.server(ident, workspace=workspace))
        change = RowChange(rows, columns=columns)
        _log(K.MCP_SERVER_CHANGED, row, actor, change, changed=changed)
        return queries.server(ident, workspace=workspace)


def _forget_accepted(server: UUID) -> list[UUID]:
    """Another address or command is another server, whatever it lists."""
    _do(
        "UPDATE gp_mcp_tool SET accepted = NULL, accepted_hash = '', accepted_by = '' "
        "WHERE server_id = %s::uuid",
        (server,),
    )
    return [tool.id for tool in queries.tools(server)]


def remove(ident: UUID, *, workspace: UUID, actor: str) -> None:
    """Take a server and its tools away; threads keep what they recorded. Raises NotFound."""
    with transaction.atomic():
        row = _locked(ident, workspace)
        rows = {"gp_mcp_tool": [tool.id for tool in queries.tools(ident)], "gp_mcp_server": [ident]}
        _do("DELETE FROM gp_mcp_tool WHERE server_id = %s::uuid", (ident,))
        _do("DELETE FROM gp_mcp_server WHERE id = %s::uuid", (ident,))
        _log(K.MCP_SERVER_REMOVED, row, actor, RowChange(rows, columns=()))


def note_listed(server: ServerRow, listed: Sequence[Any], *, actor: str) -> None:
    """Record which tools the server lists, where one is new or has another definition.

    A tool that is no longer listed stays as it is. Raises InvalidValue.
    """
    known = {tool.name: tool for tool in queries.tools(server.id)}
    definitions = {d["name"]: d for d in map(definition_of, listed)}
    if not _differing(definitions, known):
        return
    with transaction.atomic():
        _locked(server.id, server.workspace)
        known = {tool.name: tool for tool in queries.tools(server.id)}
        if len(known.keys() | definitions.keys()) > TOOLS_MAX:
            raise InvalidValue("tools", f"are more than {TOOLS_MAX:,}")
        for name in _differing(definitions, known):
            _note(server, definitions[name], known.get(name), actor)


def _differing(definitions: Mapping[str, Any], known: Mapping[str, ToolRow]) -> list[str]:
    return [
        name
        for name, definition in definitions.items()
        if name not in known or known[name].listed_hash != hash_of(definition)
    ]


def _note(
    server: ServerRow, definition: Mapping[str, Any], former: ToolRow | None, actor: str
) -> None:
    name, digest = definition["name"], hash_of(definition)
    _do(
        "INSERT INTO gp_mcp_tool (id, workspace_id, server_id, name, mode, accepted_hash, "
        "accepted_by, listed, listed_hash) VALUES (%s::uuid, %s::uuid, %s::uuid, %s::varchar, "
        "'policies', '', '', %s::jsonb, %s::varchar) ON CONFLICT (server_id, name) DO UPDATE SET "
        "listed = EXCLUDED.listed, listed_hash = EXCLUDED.listed_hash, "
        "listed_at = clock_timestamp()",
        (uuid7(), server.workspace, server.id, name, _json(definition), digest),
    )
    row = _known(server.id, name)
    columns = None if former is None else ("listed", "listed_hash", "listed_at")
    change = RowChange({"gp_mcp_tool": [row.id]}, columns=columns)
    _log(K.MCP_TOOL_LISTED, server, actor, change, tool=name, state=row.state, changed=row.changed)


def accept(
    ident: UUID, names: Mapping[str, str] | None, *, workspace: UUID, actor: str
) -> list[ToolRow]:
    """Accept definitions as they are listed: {tool: hash that the admin saw}, None for all.

    One that is new and whose name is none is refused, and left out of all. Raises NotFound,
    InvalidValue, NotAllowedNow where a definition is another one by now.
    """
    with transaction.atomic():
        server = _locked(ident, workspace)
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
            _do(
                "UPDATE gp_mcp_tool SET accepted = listed, accepted_hash = listed_hash, "
                "accepted_by = %s::varchar WHERE id = %s::uuid",
                (actor, row.id),
            )
            columns = ("accepted", "accepted_hash", "accepted_by")
            change = RowChange({"gp_mcp_tool": [row.id]}, columns=columns)
            _log(K.MCP_TOOL_ACCEPTED, server, actor, change, tool=name, definition=digest)
        return queries.tools(ident)


def set_mode(ident: UUID, name: str, mode: str, *, workspace: UUID, actor: str) -> ToolRow:
    """Say what a tool may do; raises NotFound, InvalidValue."""
    if mode not in MODES:
        raise InvalidValue("mode", f"must be one of {', '.join(MODES)}")
    with transaction.atomic():
        server = _locked(ident, workspace)
        row = _known(ident, name)
        if row.mode != mode:
            _do("UPDATE gp_mcp_tool SET mode = %s::varchar WHERE id = %s::uuid", (mode, row.id))
            change = RowChange({"gp_mcp_tool": [row.id]}, columns=("mode",))
            _log(K.MCP_TOOL_CHANGED, server, actor, change, tool=name, mode=[row.mode, mode])
        return _known(ident, name)


# --- values ---------------------------------------------------------------------------------------


def _applied(values: _Values, wanted: Wanted) -> _Values:
    if wanted.url is not None:
        values = replace(values, url=_url(wanted.url.strip()))
    if wanted.command is not None:
        values = replace(values, command=_command(wanted.command))
    if bool(values.url) is bool(values.command):
        raise InvalidValue("url", "or a command is needed, and not both")
    if wanted.credential is not None:
        if wanted.credential and not CREDENTIAL.fullmatch(wanted.credential):
            raise InvalidValue("credential", "names a secret: GATEPOST_SECRET_ and A-Z, 0-9, _")
        if is_own(wanted.credential):
            raise InvalidValue("credential", "names a setting of Gatepost itself: choose another")
        values = replace(values, credential=wanted.credential)
    if wanted.credential_to is not None:
        if wanted.credential_to and not CARRIER.fullmatch(wanted.credential_to):
            raise InvalidValue("credential_to", "names a header, or a variable of the program")
        values = replace(values, credential_to=wanted.credential_to)
    if values.command and values.credential and not values.credential_to:
        raise InvalidValue("credential_to", "is needed: the variable that the program reads")
    for group in GROUPS:
        if (mode := getattr(wanted, group)) is not None:
            if mode not in MODES:
                raise InvalidValue(group, f"must be one of {', '.join(MODES)}")
            values = replace(values, **{group: mode})
    return values if wanted.active is None else replace(values, active=wanted.active)


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


def _command(words: Sequence[str]) -> tuple[str, ...]:
    deltas.check(list(words), "command")
    if not words:
        return ()
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
    return tuple(words)


def _check_credential(row: ServerRow) -> None:
    if problem := credential_problem(row):
        raise InvalidValue("credential", problem)


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


def _params(values: _Values) -> tuple[Any, ...]:
    return (
        values.transport,
        values.url,
        _json(list(values.command)),
        values.credential,
        values.credential_to,
        values.active,
        *(getattr(values, group) for group in GROUPS),
    )


def _json(value: Any) -> str:
    return deltas.canonical(value).decode()


def _locked(ident: UUID, workspace: UUID) -> ServerRow:
    _do(
        "SELECT 1 FROM gp_mcp_server WHERE id = %s::uuid AND workspace_id = %s::uuid FOR UPDATE",
        (ident, workspace),
    )
    return queries.server(ident, workspace=workspace)


def _known(server: UUID, name: str) -> ToolRow:
    row = queries.tool(server, name)
    if row is None:
        raise NotFound(f"The server lists no tool named {name!r}.")
    return row


def _log(kind: K, server: ServerRow, actor: str, change: RowChange, **payload: Any) -> None:
    data = {"server": str(server.id), "name": server.name, **payload}
    store.log_setting(kind, server.workspace, data=data, actor=actor, change=change)


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
