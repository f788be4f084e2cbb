"""A whole state written as JSON by a person: changes against the state shown, faults by line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from checkpoints.state import deltas

from .form import Unreadable, from_json, syntax_fault

# A larger state is no text that people edit on a page; the command takes it from a file.
SHOWN_BYTES: Final = 200_000


def state_text(schema: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """The state as indented JSON, channels in the author's order."""
    order = {name: i for i, name in enumerate(schema.get("x-order") or ())}
    names = sorted(values, key=lambda name: (order.get(name, len(order)), name))
    return json.dumps({name: values[name] for name in names}, ensure_ascii=False, indent=2)


def changes_of(text: str, schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """{channel: new value} of what differs from `values`; raises Unreadable with the line."""
    if (fault := syntax_fault(text)) is not None:
        raise Unreadable(
            f"Line {fault.lineno}, character {fault.colno} is not valid JSON: "
            f"“{line_at(text, fault.lineno)}”"
        )
    state = from_json(text)
    if not isinstance(state, dict):
        raise Unreadable("Line 1: the state must be an object of channels.")
    if missing := [name for name in values if name not in state]:
        raise Unreadable(f"“{missing[0]}” is missing; write null or an empty value to empty it.")
    changes = {
        name: value
        for name, value in state.items()
        if name not in values or not _same(value, values[name])
    }
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name in changes:
        if (properties.get(name) or {}).get("readOnly"):
            raise Unreadable(f"Line {line_of(text, name)}: “{name}” can’t be changed by people.")
    return changes


def at_lines(text: str, problems: Mapping[str, str]) -> str:
    """The faults of channels as one message, each with the line that its channel begins on."""
    return " ".join(
        f"Line {line_of(text, channel)}, {channel}: {words}" for channel, words in problems.items()
    )


def line_of(text: str, channel: str) -> int:
    """The line on which a channel of the text begins; 1 where it is not written."""
    name = re.escape(json.dumps(channel, ensure_ascii=False))
    # Two spaces are the indent of a channel here; a text without indents has it anywhere.
    match = re.search(rf"^(?:\s{{0,2}}|\t){name}\s*:", text, re.MULTILINE)
    match = match or re.search(rf"{name}\s*:", text)
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def line_at(text: str, number: int) -> str:
    """A line of the text as a message quotes it."""
    lines = text.splitlines()
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return line if len(line) <= 80 else f"{line[:79]}…"


def _same(one: Any, other: Any) -> bool:
    return deltas.canonical(one) == deltas.canonical(other)
