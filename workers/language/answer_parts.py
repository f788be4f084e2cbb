"""Parts of an answer as servers really send them: texts, lists of parts, counts of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..authoring.language_models import NAME_MAX, TOKENS_MAX, Reply

_TEXTS = ("text", "output_text", "refusal")
_NAMES = ("thinking", "reasoning", "text", "summary")
_THOUGHTS = (*_NAMES[:2], "reasoning_text", "summary_text", "reasoning.text", "reasoning.summary")
REPLACED = "\ufffd"


class Tokens(NamedTuple):
    """Counts of tokens; `tokens_in` includes `read` and `written`, those of the cache."""

    tokens_in: int = 0
    tokens_out: int = 0
    read: int = 0
    written: int = 0
    reasoning: int = 0


class OddUsage(ValueError):
    """A count of tokens that cannot be one: the whole usage is unknown then."""


def count(usage: Mapping[str, Any], *names: str) -> int:
    """The first count of these names that is there, else 0; OddUsage for what is no count."""
    for name in names:
        value = usage.get(name)
        if value is None:
            continue
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not 0 <= value <= TOKENS_MAX:
            raise OddUsage(name)
        return value
    return 0


def details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object inside of the usage, {} where there is none."""
    value = usage.get(name)
    return value if isinstance(value, Mapping) else {}


def texts_of(content: Any) -> Iterator[tuple[bool, str]]:
    """(whether it is reasoning, a text) for each part of a content: text, or a list of parts.

    Parts that hold no text, such as references and pictures, are passed over.
    """
    if isinstance(content, str):
        yield False, content
    elif isinstance(content, list):
        for part in content:
            yield from texts_of(part)
    elif isinstance(content, Mapping):
        kind = content.get("type")
        if kind in _THOUGHTS:
            inner = next((content[name] for name in _NAMES if content.get(name)), "")
            yield True, "".join(text for _, text in texts_of(inner))
        elif kind in _TEXTS or kind is None:
            inner = content.get(kind or "text", content.get("text"))
            yield from texts_of(inner.get("value") if isinstance(inner, Mapping) else inner)


def clean(text: str) -> tuple[str, int]:
    """(a text that a record can hold, the number of characters that were replaced in it).

    JSON may name NUL and halves of surrogate pairs, PostgreSQL takes neither.
    """
    if "\x00" not in text and text.isascii():
        return text, 0
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    result = whole.replace("\x00", REPLACED)
    return result, result.count(REPLACED) - text.count(REPLACED)


def short(value: Any) -> str:
    """A name or id of an answer as the record takes it."""
    return clean(str(value or ""))[0][:NAME_MAX]


def is_uncounted(reply: Reply) -> bool:
    """True where a server counted nothing."""
    return not reply.tokens_in + reply.tokens_out
