"""The only reader of MCP servers and their tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.names import escaped, name_fault
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas

from .definitions import GROUPS, changed_parts

_SERVER_COLUMNS = (
    "s.id, s.workspace_id, s.name, s.transport, s.url, s.command::text, s.credential, "
    "s.credential_to, s.active, s.resources, s.prompts, s.completions, s.made_by, s.created_at, "
    "(SELECT w.name FROM gp_workspace w WHERE w.id = s.workspace_id) AS workspace_name"
)
_TOOL_PARTS = {
    **dict.fromkeys(("id", "server_id", "name", "mode"), ""),
    "accepted": "::text",
    **dict.fromkeys(("accepted_hash", "accepted_by"), ""),
    "listed": "::text",
    **dict.fromkeys(("listed_hash", "listed_at"), ""),
}
_TOOL_COLUMNS = ", ".join(f"t.{name}{cast} AS {name}" for name, cast in _TOOL_PARTS.items())
_ALIASED = ", ".join(f"t.{name}{cast} AS tool_{name}" for name, cast in _TOOL_PARTS.items())
_SERVER = f"SELECT {_SERVER_COLUMNS} FROM gp_mcp_server s "  # noqa: S608
_TOOL = f"SELECT {_TOOL_COLUMNS} FROM gp_mcp_tool t "  # noqa: S608


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server; `credential` is the name of its secret, never the secret.

    `modes` are {what it has beside tools: what decides about reading it}.
    """

    id: UUID
    workspace: UUID
    name: str
    transport: Literal["http", "command"]
    url: str
    command: tuple[str, ...]
    credential: str
    credential_to: str
    active: bool
    modes: Mapping[str, Literal["policies", "ask", "refuse"]]
    made_by: str
    created_at: datetime
    workspace_name: str


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool; `accepted` is None while it is new."""

    id: UUID
    server: UUID
    name: str
    mode: Literal["policies", "ask", "refuse"]
    accepted: Mapping[str, Any] | None
    accepted_hash: str
    accepted_by: str
    listed: Mapping[str, Any]
    listed_hash: str
    listed_at: datetime

    @property
    def state(self) -> Literal["new", "changed", "accepted"]:
        """Compare what the server lists now with what an admin accepted."""
        if self.accepted is None:
            return "new"
        return "accepted" if self.accepted_hash == self.listed_hash else "changed"

    @property
    def fault(self) -> str:
        """The sentence that says why its name is none; a new tool with one is not accepted."""
        fault = name_fault(self.name)
        return f"its name {fault}: {escaped(self.name)}" if fault else ""

    @property
    def is_waiting(self) -> bool:
        """True for one that an admin has to accept, and can."""
        return self.state == "changed" or (self.state == "new" and not self.fault)

    @property
    def changed(self) -> list[str]:
        """The parts in which the listed definition differs from the accepted one."""
        return [] if self.accepted is None else changed_parts(self.accepted, self.listed)


def servers(workspace: UUID) -> list[ServerRow]:
    """All servers of a workspace by name."""
    rows = fetch_named(_SERVER + "WHERE s.workspace_id = %s::uuid ORDER BY s.name", (workspace,))
    return [_server(row) for row in rows]


def active_everywhere() -> list[ServerRow]:
    """The active servers of all workspaces."""
    rows = fetch_named(_SERVER + "WHERE s.active ORDER BY s.workspace_id, s.name", ())
    return [_server(row) for row in rows]


def server(ident: UUID, *, workspace: UUID) -> ServerRow:
    """One server; raises NotFound for unknown ones and those of other workspaces alike."""
    rows = fetch_named(
        _SERVER + "WHERE s.id = %s::uuid AND s.workspace_id = %s::uuid", (ident, workspace)
    )
    if not rows:
        raise NotFound("There is no such MCP server in this workspace.")
    return _server(rows[0])


def server_named(name: str, *, workspace: UUID) -> ServerRow:
    """The server of this name; raises NotFound."""
    rows = fetch_named(
        _SERVER + "WHERE s.name = %s::varchar AND s.workspace_id = %s::uuid", (name, workspace)
    )
    if not rows:
        raise NotFound(f"There is no MCP server named {name!r} in this workspace.")
    return _server(rows[0])


def server_with_tool(name: str, tool: str, *, workspace: UUID) -> tuple[ServerRow, ToolRow | None]:
    """The server of this name and one of its tools, as one statement sees them.

    Raises NotFound.
    """
    rows = fetch_named(
        f"SELECT {_SERVER_COLUMNS}, {_ALIASED} FROM gp_mcp_server s "  # noqa: S608
        "LEFT JOIN gp_mcp_tool t ON t.server_id = s.id AND t.name = %s::varchar "
        "WHERE s.name = %s::varchar AND s.workspace_id = %s::uuid",
        (tool, name, workspace),
    )
    if not rows:
        raise NotFound(f"There is no MCP server named {name!r} in this workspace.")
    return _server(rows[0]), None if rows[0].tool_id is None else _tool(rows[0], "tool_")


def tools(server: UUID) -> list[ToolRow]:
    """The tools of a server by name."""
    rows = fetch_named(_TOOL + "WHERE t.server_id = %s::uuid ORDER BY t.name", (server,))
    return [_tool(row) for row in rows]


def tool(server: UUID, name: str) -> ToolRow | None:
    """One tool of a server; None where it was never listed."""
    rows = fetch_named(
        _TOOL + "WHERE t.server_id = %s::uuid AND t.name = %s::varchar", (server, name)
    )
    return _tool(rows[0]) if rows else None


def waiting(workspace: UUID) -> dict[UUID, int]:
    """{server: number of tools that an admin has to accept}, of servers that have some."""
    rows = fetch_named(
        _TOOL + "WHERE t.workspace_id = %s::uuid AND t.accepted_hash <> t.listed_hash",
        (workspace,),
    )
    return dict(Counter(row.server_id for row in rows if _tool(row).is_waiting))


def _server(row: Any) -> ServerRow:
    return ServerRow(
        id=row.id,
        workspace=row.workspace_id,
        name=row.name,
        transport=row.transport,
        url=row.url,
        command=tuple(deltas.decode(row.command)),
        credential=row.credential,
        credential_to=row.credential_to,
        active=row.active,
        modes={group: getattr(row, group) for group in GROUPS},
        made_by=row.made_by,
        created_at=row.created_at,
        workspace_name=row.workspace_name,
    )


def _tool(row: Any, prefix: str = "") -> ToolRow:
    def value(name: str) -> Any:
        return getattr(row, prefix + name)

    return ToolRow(
        id=value("id"),
        server=value("server_id"),
        name=value("name"),
        mode=value("mode"),
        accepted=None if value("accepted") is None else deltas.decode(value("accepted")),
        accepted_hash=value("accepted_hash"),
        accepted_by=value("accepted_by"),
        listed=deltas.decode(value("listed")),
        listed_hash=value("listed_hash"),
        listed_at=value("listed_at"),
    )
