"""The id of an agent version, which follows from its content; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from .state import deltas

# In the order in which they enter the id.
VERSION_CONTENT: Final = (
    "agent",
    "version",
    "fingerprint",
    "schema_version",
    "schema",
    "channels",
    "graph",
    "tools",
)


def version_id(content: Mapping[str, Any]) -> UUID:
    """The id of the version with this content, the same in every installation."""
    values = deltas.canonical([content[name] for name in VERSION_CONTENT]).decode()
    return uuid5(NAMESPACE_URL, "gatepost-agent-version-1" + values)
