"""Definitions of tools as servers list them: what of them counts, their hash, what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

# What a server has beside tools; each has a mode of its own, which is a column of the server.
GROUPS: Final = ("resources", "prompts", "completions")
# What an agent, its model or a reviewer acts on. Icons and `_meta` are for display.
PARTS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
TOOL_NAME_MAX: Final = 128
DEFINITION_BYTES: Final = 64 * 1024


def definition_of(tool: Any) -> dict[str, Any]:
    """The parts of a listed tool that count; raises InvalidValue where it is none."""
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        raise InvalidValue("tools", "lists something that is not a tool")
    definition = {part: tool[part] for part in PARTS if tool.get(part) is not None}
    deltas.check(definition, "tools")
    if not 0 < len(tool["name"]) <= TOOL_NAME_MAX:
        raise InvalidValue("tools", f"lists a name that has not 1 to {TOOL_NAME_MAX} characters")
    if len(deltas.canonical(definition)) > DEFINITION_BYTES:
        raise InvalidValue("tools", f"lists a tool of more than {DEFINITION_BYTES:,} bytes")
    return definition


def hash_of(definition: Mapping[str, Any]) -> str:
    """The hash by which a definition is accepted."""
    raw = deltas.canonical(dict(definition))
    return hashlib.sha256(b"gatepost-mcp-tool-1|" + raw).hexdigest()


def changed_parts(accepted: Mapping[str, Any], listed: Mapping[str, Any]) -> list[str]:
    """The parts in which two definitions of a tool differ, in their order."""
    return [
        part
        for part in PARTS
        if deltas.canonical(accepted.get(part)) != deltas.canonical(listed.get(part))
    ]


def is_repeatable(definition: Mapping[str, Any]) -> bool:
    """True where the tool says that it only reads, or that two calls do no more than one."""
    hints = definition.get("annotations")
    if not isinstance(hints, Mapping):
        return False
    return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
