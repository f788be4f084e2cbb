"""Names that look like one that a policy names, so that no other spelling escapes it; pure.

A name whose skeleton is that of a text in a condition, and which is not that text, is held by a
policy that asks. Where only a part of the name looks alike (`tool.startsWith('pay')`), the
condition is asked once more with the spelling that it names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final

from checkpoints.names import escaped, skeleton

FIELDS: Final = ("tool", "agent", "node")
READINGS_MAX: Final = 64


def texts_of(tokens: Sequence[str]) -> tuple[str, ...]:
    """The texts in the tokens of a condition, each once."""
    return tuple(dict.fromkeys(_text(t) for t in tokens if t[-1:] in ("'", '"') and len(t) > 1))


def twin(values: Mapping[str, Any], names: frozenset[str], texts: Sequence[str]) -> str:
    """Say which name looks like a text of the condition; empty where none does."""
    for field in FIELDS:
        name = values[field]
        if field not in names or not name or name in texts:
            continue
        for text in texts:
            if text and skeleton(text) == skeleton(name):
                return f"{field} {escaped(name)} looks like {escaped(text)}"
    return ""


def readings(
    values: Mapping[str, Any], names: frozenset[str], texts: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The values with names in the spellings of the condition, where a part of one looks alike."""
    options = {
        field: list(dict.fromkeys([values[field], *_spellings(values[field], texts)]))
        for field in FIELDS
        if field in names and values[field]
    }
    combined = product(*options.values())
    next(combined, None)  # the names as they are
    for chosen in islice(combined, READINGS_MAX):
        yield {**values, **dict(zip(options, chosen, strict=True))}


def _spellings(name: str, texts: Sequence[str]) -> Iterator[str]:
    together = name
    for text in texts:
        yield from _spelled(name, text)
        together = next(_spelled(together, text), together)
    yield together


def _spelled(name: str, text: str) -> Iterator[str]:
    """The name with its beginning, its end or a part in the spelling of a text like it."""
    alike, part = skeleton(name), skeleton(text)
    if not part:
        return
    if alike.startswith(part) and not name.startswith(text):
        yield text + alike[len(part) :]
    if alike.endswith(part) and not name.endswith(text):
        yield alike[: -len(part)] + text
    if part in alike and text not in name:
        yield alike.replace(part, text, 1)


def _text(token: str) -> str:
    """The value of a text in CEL, whose escapes are Python's but for a few."""
    try:
        value = ast.literal_eval(token)
    except (SyntaxError, ValueError):
        return token.strip("rRbB").strip("'\"")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
