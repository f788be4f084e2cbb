"""The title of a thread without one: from values of its input that the agent names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# A channel says true here if its text titles the thread, or a sentence with {} for its value.
TITLE: Final = "x-title"
GAP: Final = "{}"
LONGEST: Final = 120  # characters


def title_from(schema: Mapping[str, Any], input: Mapping[str, Any]) -> str:
    """The title by the first such channel, in the author's order, that the input has a value for.

    In one line and cut at a word; empty without one. A file stands for its name, a list of texts
    for its items.
    """
    properties = schema.get("properties", {})
    order = {name: n for n, name in enumerate(schema.get("x-order") or ())}
    for channel in sorted(properties, key=lambda name: order.get(name, len(order))):
        part = properties[channel]
        wanted = part.get(TITLE) if isinstance(part, Mapping) else None
        sentence = GAP if wanted is True else wanted
        if not isinstance(sentence, str) or GAP not in sentence:
            continue
        if text := " ".join(_words(input.get(channel)).split()):
            return _shortened(sentence.replace(GAP, text))
    return ""


def _words(value: Any) -> str:
    """A value in a title; "" for one that is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, Mapping) and "$artifact" in value:
        name = value.get("name")
        return name if isinstance(name, str) else ""
    return ""


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    begin = text[: LONGEST - 1]
    return f"{begin.rpartition(' ')[0] or begin}…"
