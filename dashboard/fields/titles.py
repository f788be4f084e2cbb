"""The title of a thread that is started without one: a text of its input that the agent names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TITLE: Final = "x-title"  # a channel whose text titles the thread says true here
LONGEST: Final = 120  # characters


def title_from(schema: Mapping[str, Any], input: Mapping[str, Any]) -> str:
    """The first such channel's text, in one line and cut at a word; empty without one."""
    for channel, part in schema.get("properties", {}).items():
        value = input.get(channel)
        named = isinstance(part, Mapping) and part.get(TITLE) is True
        if named and isinstance(value, str) and (text := " ".join(value.split())):
            return _shortened(text)
    return ""


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    begin = text[: LONGEST - 1]
    return f"{begin.rpartition(' ')[0] or begin}…"
