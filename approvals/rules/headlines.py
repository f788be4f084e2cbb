"""A request in one line: the title that people wrote for it, and what its tool says of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# The sentence is about what was asked: of other arguments, which an edit put in place, it is false.
SENTENCE: Final = "CASE WHEN a.standing_args IS NULL THEN a.sentence ELSE '' END"
_MARKS: Final = ".,:;?!…\"'“”()"
# Begins the title of an effect that was done before.
REPEAT: Final = "Repeat: "
_ARTICLES: Final = frozenset(("a", "an", "the", "this", "these", "it"))


def lines(title: str, sentence: str) -> tuple[str, str]:
    """(first, second) line of a request: title and tool's sentence; "" where one is enough.

    A title whose words the sentence has in the same order, such as “Publish this?” and “Publish
    “Delays””, is left out; never the sentence, unless the title quotes it whole.
    """
    title = title.rstrip()
    if not sentence or sentence in title:
        return title, ""
    mark = REPEAT if title.startswith(REPEAT) else ""
    if _words_in_order(title.removeprefix(mark), sentence):
        return f"{mark}{sentence}", ""
    return title, sentence


def headline(title: str, sentence: str) -> str:
    """The headline of a request in lists, messages and the log: its lines as one."""
    first, second = lines(title, sentence)
    if not second:
        return first
    return f"{first} {second}" if first.endswith((".", "?", "!", "…")) else f"{first}: {second}"


def _words_in_order(title: str, sentence: str) -> bool:
    """Answer True if the sentence has the title's words, articles aside, in the same order."""
    wanted, words = _words(title), iter(_words(sentence))
    return bool(wanted) and all(word in words for word in wanted)


def _words(text: str) -> list[str]:
    words = [word.strip(_MARKS) for word in text.casefold().split()]
    return [word for word in words if word and word not in _ARTICLES]


def named(title: str, sentence: str) -> dict[str, str]:
    """The fields by which the data of an event names a request."""
    return {"title": title} | ({"sentence": sentence} if sentence else {})


def headline_of(data: Mapping[str, Any]) -> str:
    """The headline from the data of an event; a capsule may note anything."""
    title, sentence = data.get("title") or "", data.get("sentence") or ""
    return headline(str(title), str(sentence)) if title else str(sentence)
