"""Searchable channels of agents that work elsewhere: what may be announced and reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.searchable import check_values, searchable_of
from checkpoints.views import AgentRow
from dashboard.errors import Invalid
from workers.external.announcement import Announcement

# As `state.CHANNEL:value` of the board's query is read.
_NAME: Final = re.compile(r"[\w-]+")


def check_announced(external: Announcement) -> None:
    """Refuse a channel by which no thread could be found: Invalid."""
    schema = external.schema or {}
    for index, name in enumerate(external.searchable):
        if why := _refused(name, external, schema):
            raise Invalid(f"$.external.searchable[{index}]", why)


def _refused(name: str, external: Announcement, schema: Mapping[str, Any]) -> str:
    if not _NAME.fullmatch(name):
        return "takes letters, digits, _ and -: a query could not name it"
    if external.channels.get(name, "set") != "set" or name == external.message_channel:
        return f"{name} grows: only a channel whose new value replaces the old one is searchable"
    if schema.get("additionalProperties") is False and name not in schema.get("properties", {}):
        return f"{name} is not a channel of the schema"
    return ""


def check_reported(agent: AgentRow, delta: Mapping[str, Any]) -> None:
    """Refuse a change of a searchable channel in parts, and a value that is too large: Invalid."""
    names = searchable_of(agent.channels)
    for operation in ("append", "merge"):
        for name in delta.get(operation, {}):
            if name in names:
                path = deltas.at(f"$.{operation}", name)
                raise Invalid(path, "is searchable: send its whole value by `set`", within="delta")
    try:
        check_values(names, delta.get("set", {}))
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within="delta.set") from error
