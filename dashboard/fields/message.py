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
    """The input of a message, filled with what was posted or with the form of an object.

    Of a conversation it is the text of what a person says.
    """
    item = inbox_schema(agent)
    if _is_conversation(item):
        item = {"type": "string", "description": "Your next message in the conversation"}
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
    if _is_conversation(inbox_schema(agent)) and not _is_message(text):
        return {"role": "user", "content": text.strip()}, ""
    posted = {fields.PREFIX + NAME: text}
    values, errors = fields.parse(_schema(inbox_schema(agent)), {}, posted)
    return values.get(NAME), errors.get(NAME, "")


def _schema(item: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: value for key, value in item.items() if key != "$defs"}
    return {"properties": {NAME: part}, "required": [NAME], "$defs": item.get("$defs", {})}


def _resolved(item: Mapping[str, Any]) -> Any:
    part: Any = item
    if "$ref" in part:
        part = item.get("$defs", {}).get(str(part["$ref"]).rpartition("/")[2], {})
    return part


def _is_conversation(item: Mapping[str, Any]) -> bool:
    """True if the schema is that of a user's message in a conversation: a role and a text."""
    part = _resolved(item)
    members = part.get("properties") or {}
    return (
        set(part.get("required", ())) == {"role", "content"}
        and members.get("content", {}).get("type") == "string"
        and "user" in members.get("role", {}).get("enum", ["user"])
    )


def _is_message(text: str) -> bool:
    """True if the text is a whole message, written as JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "role" in value


def _skeleton(item: Mapping[str, Any]) -> str:
    """An object with its required members, so that nobody has to remember them."""
    part = _resolved(item)
    if part.get("type") != "object":
        return ""
    members = part.get("properties") or {}
    shown = {
        name: EMPTY.get(members.get(name, {}).get("type")) for name in part.get("required", ())
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) if shown else ""
