"""The form over an agent's inbox: one field as the schema of a message says, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from checkpoints.views import AgentRow

from . import form as fields
from .shapes import Field
from .validation import inbox_schema

NAME = "message"
EMPTY = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


def message_field(agent: AgentRow, *, text: str | None = None, error: str = "") -> Field:
    """The input of a message, filled with what was posted or with the form of an object."""
    item = inbox_schema(agent)
    [field] = fields.build(
        _schema(item),
        {},
        posted={fields.PREFIX + NAME: _skeleton(item) if text is None else text},
        errors={NAME: error} if error else {},
        compare=False,
    )
    # People write more than a line.
    kind = "textarea" if field.kind == "text" else field.kind
    return replace(field, label=NAME, kind=kind, required=False)


def message_of(agent: AgentRow, text: str) -> tuple[Any, str]:
    """(the value that was meant, what is wrong with it or an empty text)."""
    if not text.strip():
        return None, "Write something."
    posted = {fields.PREFIX + NAME: text}
    values, errors = fields.parse(_schema(inbox_schema(agent)), {}, posted, every=True)
    return values.get(NAME), errors.get(NAME, "")


def _schema(item: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: value for key, value in item.items() if key != "$defs"}
    return {"properties": {NAME: part}, "required": [NAME], "$defs": item.get("$defs", {})}


def _skeleton(item: Mapping[str, Any]) -> str:
    """An object with its required members, so that nobody has to know them by heart."""
    part: Any = item
    if "$ref" in part:
        part = item.get("$defs", {}).get(str(part["$ref"]).rpartition("/")[2], {})
    if part.get("type") != "object":
        return ""
    members = part.get("properties") or {}
    shown = {
        name: EMPTY.get(members.get(name, {}).get("type")) for name in part.get("required", ())
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) if shown else ""
