"""A request in one line: the title that people wrote for it, and what its tool says of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# The sentence is about what was asked: of other arguments, which an edit put in place, it is false.
SENTENCE: Final = "CASE WHEN a.standing_args IS NULL THEN a.sentence ELSE '' END"


def headline(title: str, sentence: str) -> str:
    """The headline of a request in lists, messages and the log: title and tool's sentence."""
    title = title.rstrip()
    if not sentence or sentence in title:
        return title
    return f"{title} {sentence}" if title.endswith((".", "?", "!", "…")) else f"{title}: {sentence}"


def named(title: str, sentence: str) -> dict[str, str]:
    """The fields by which the data of an event names a request."""
    return {"title": title} | ({"sentence": sentence} if sentence else {})


def headline_of(data: Mapping[str, Any]) -> str:
    """The headline from the data of an event; a capsule may note anything."""
    title, sentence = data.get("title") or "", data.get("sentence") or ""
    return headline(str(title), str(sentence)) if title else str(sentence)
