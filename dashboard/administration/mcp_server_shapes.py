"""MCP servers and their tools as the API takes and answers them; secrets are only ever named."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from dashboard.documents.state_shape import Shape
from dashboard.gateway.registry.changes import CARRIER, CREDENTIAL, NAME, URL_MAX, WORDS_MAX, Wanted
from dashboard.gateway.registry.definitions import MODES, TOOL_NAME_MAX
from dashboard.gateway.registry.queries import ServerRow, ToolRow
from dashboard.gateway.registry.refusals import refusal
from dashboard.kit.shapes.requests import Hash, RequestShape
from dashboard.kit.shapes.texts import NotBlank, OneOf

ToolName = Annotated[str, NotBlank(TOOL_NAME_MAX)]


class ChangeMcpServer(RequestShape):
    """Other values of a server; what is left out stays."""

    url: Annotated[str, Field(max_length=URL_MAX)] | None = Field(
        None, description="Where it answers streamable HTTP; empty for a command."
    )
    command: (
        Annotated[list[Annotated[str, Field(max_length=URL_MAX)]], Field(max_length=WORDS_MAX)]
        | None
    ) = Field(
        None,
        description="The program and its arguments, spoken to over stdio. GATEPOST_MCP_COMMANDS "
        "lists the programs that may be started.",
    )
    credential: (
        Annotated[str, Field(pattern=f"^({CREDENTIAL.pattern})?$", max_length=100)] | None
    ) = Field(None, description="The name of the secret that the server is shown.")
    credential_to: (
        Annotated[str, Field(pattern=f"^({CARRIER.pattern})?$", max_length=100)] | None
    ) = Field(
        None,
        description="The header that carries it (`Authorization`), or the program's variable.",
    )
    active: bool | None = None
    resources: Annotated[str, OneOf(MODES)] | None = Field(
        None, description="What decides about resources/*: as the `mode` of a tool."
    )
    prompts: Annotated[str, OneOf(MODES)] | None = Field(
        None, description="What decides about prompts/*: as the `mode` of a tool."
    )
    completions: Annotated[str, OneOf(MODES)] | None = Field(
        None, description="What decides about completion/complete: as the `mode` of a tool."
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
        None, description="{tool: `listed_hash` that was seen}; null for all as listed now."
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
    def from_row(cls, row: ServerRow) -> Self:
        return cls(
            id=row.id,
            name=row.name,
            transport=row.transport,
            url=row.url,
            command=list(row.command),
            credential=row.credential,
            credential_to=row.credential_to,
            active=row.active,
            **row.modes,
            made_by=row.made_by,
            created_at=row.created_at,
            refusal=refusal(row),
        )


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

    @classmethod
    def from_row(cls, row: ToolRow) -> Self:
        return cls(
            name=row.name,
            state=row.state,
            mode=row.mode,
            changed=row.changed,
            accepted=None if row.accepted is None else dict(row.accepted),
            accepted_by=row.accepted_by,
            listed=dict(row.listed),
            listed_hash=row.listed_hash,
            listed_at=row.listed_at,
            fault=row.fault,
        )


class McpServerList(Shape):
    """The servers of the workspace by name."""

    results: list[McpServer]


class McpServerDetail(McpServer):
    """A server with its tools."""

    tools: list[McpTool]

    @classmethod
    def of(cls, row: ServerRow, tools: list[ToolRow]) -> Self:
        """Both together."""
        shown = McpServer.from_row(row).model_dump()
        return cls(**shown, tools=[McpTool.from_row(tool) for tool in tools])


class McpServerRemoved(Shape):
    """That it is gone."""

    id: UUID
