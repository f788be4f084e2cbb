"""What an agent that works elsewhere says of itself: an agent version without code of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkpoints import store
from checkpoints.agent_versions import CAN, EXTERNAL_QUEUE
from checkpoints.state import deltas

REDUCERS: Final = {"append": "append", "merge": "merge", "set": "last_value"}
FIRST_NODE: Final = "work"


@dataclass(frozen=True, slots=True)
class Announcement:
    """The agent as it describes itself; nothing of it is checked against what it does.

    Of one that is `watched` somebody else reports what it does, and nobody controls it from here.
    """

    framework: str = ""
    version: int = 1
    schema: Mapping[str, Any] | None = None
    channels: Mapping[str, str] = field(default_factory=dict)
    nodes: Sequence[str] = ()
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    message_channel: str = ""
    searchable: Sequence[str] = ()
    can: Sequence[str] = CAN
    watched: bool = False


def announce(agent: str, made: Announcement, *, workspace: UUID) -> UUID:
    """Enter the agent as it describes itself; the same description gives the same version."""
    schema = {"type": "object", **(made.schema or {})}
    nodes = list(dict.fromkeys(made.nodes)) or [FIRST_NODE]
    named = [
        *schema.get("properties", {}),
        *made.channels,
        *([made.message_channel] if made.message_channel else []),
        *made.searchable,
    ]
    joined = dict.fromkeys(named, "set") | dict(made.channels)
    content: dict[str, Any] = {
        "schema": schema,
        "channels": {
            name: {
                "reducer": REDUCERS[by],
                **({"searchable": True} if name in made.searchable else {}),
            }
            for name, by in joined.items()
        },
        "graph": {
            "entry": nodes[:1],
            "nodes": [{"name": n, "then": [], "label": n, "gate": False} for n in nodes],
            **({"inbox": made.message_channel} if made.message_channel else {}),
            "external": {
                "workspace": str(workspace),
                "framework": made.framework,
                "can": [verb for verb in CAN if verb in made.can and not made.watched],
                "open": made.schema is None,
                **({"watched": True} if made.watched else {}),
            },
        },
        "tools": {name: _tool(tool) for name, tool in made.tools.items()},
    }
    described = deltas.canonical([agent, made.version, content])
    return store.announce_version(
        agent=agent,
        version=made.version,
        fingerprint=hashlib.sha256(b"gatepost-external-agent-1" + described).hexdigest(),
        label=agent,
        description="",
        schema_version=1,
        queue=EXTERNAL_QUEUE,
        **content,
    )


def _tool(announced: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": announced.get("schema") or {"type": "object"},
        "effect": bool(announced.get("effect", True)),
        "idempotent": bool(announced.get("idempotent")),
        "once": False,
        "undo": announced.get("undo") or "",
        "description": announced.get("description") or "",
    }
