"""JSON to read on paper: what fits into a line stays in one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from checkpoints.state import marked

WIDTH: Final = 100
# An object of plain values in a list is a row of a table to its reader: a longer one wraps.
ROW: Final = 400


def json_lines(value: Any) -> str:
    """The JSON text of a value, keys sorted, an item a line where a part is too long for one."""
    return _lines(marked.shown(value), "")


def _lines(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not value or not isinstance(value, (Mapping, list)):
        return line
    parts = value.values() if isinstance(value, Mapping) else value
    if len(indent) + len(line) <= (ROW if indent and _plain(parts) else WIDTH):
        return line
    inner = indent + "  "
    if isinstance(value, Mapping):
        pairs = sorted(value.items())
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {_lines(one, inner)}" for key, one in pairs
        ]
        return _between("{", items, "}", indent)
    return _between("[", [_lines(one, inner) for one in value], "]", indent)


def _plain(values: Iterable[Any]) -> bool:
    return not any(isinstance(value, (Mapping, list)) for value in values)


def _between(first: str, items: list[str], last: str, indent: str) -> str:
    text = ",\n".join(f"{indent}  {item}" for item in items)
    return f"{first}\n{text}\n{indent}{last}"
