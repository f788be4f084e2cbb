"""The id of an agent version, which follows from its content; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import Field

from .state import deltas
from .tables.columns import AGENT_VERSION

# The queue of agents that work elsewhere, through the API: no worker of ours takes their threads.
EXTERNAL_QUEUE: Final = "gatepost:external"
# The agents of the MCP gateway begin so. It goes by the names of their threads and answers its
# clients with what these record: it alone starts them, names them and works on them.
GATEWAY_AGENT: Final = "mcp:"
# The framework of agents that this installation's workers work on.
OURS: Final = "Gatepost"
# What people can do to a thread that its agent has to be able to continue from.
CAN: Final = ("edit", "fork", "roll_back")


@dataclass(frozen=True, slots=True)
class External:
    """An agent that works elsewhere: what it reports is its own word."""

    framework: str
    can: Annotated[
        tuple[str, ...], Field(description="what it can continue from: edit, fork, roll_back")
    ]
    # It announced no schema, so its state has any channels.
    is_open: Annotated[bool, Field(exclude=True)]
    watched: Annotated[bool, Field(description="only observed: nothing done here reaches it")] = (
        False
    )

    @classmethod
    def of(cls, payload: Mapping[str, Any] | None) -> External | None:
        """Read the facts from the graph of an agent version; None for an agent that runs here."""
        if payload is None:
            return None
        can, watched = tuple(payload["can"]), bool(payload.get("watched"))
        return cls(payload["framework"], can, payload["open"], watched)

    @classmethod
    def read(cls, text: str | None) -> External | None:
        """The same as it is stored."""
        return cls.of(None if text is None else deltas.decode(text))


def is_of_gateway(agent: str) -> bool:
    """True for an agent of the MCP gateway."""
    return agent.startswith(GATEWAY_AGENT)


def version_id(content: Mapping[str, Any]) -> UUID:
    """The id of the version with this content, the same in every installation."""
    values = deltas.canonical([content[name] for name in AGENT_VERSION.sealed]).decode()
    return uuid5(NAMESPACE_URL, "gatepost-agent-version-1" + values)
