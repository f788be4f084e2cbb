"""Names that look like one that a policy names, so that no other spelling escapes it; pure.

A name whose skeleton is that of a text in a condition, and which is not that text, is held by a
policy that asks. Where only a part of the name looks alike (`tool.startsWith('pay')`), the
condition is asked once more with the spelling that it names. A regular expression is asked for
the words in it, and for the plain letters that those of the name look like.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, product
from typing import Any, Final

from checkpoints.names import escaped, plain_letters, skeleton

FIELDS: Final = ("tool", "agent", "node")
READINGS_MAX: Final = 64
# Of a regular expression: what is no word in it, and a word.
NO_WORD: Final = re.compile(r"\[\^?\]?[^\]]*\]|\\[pP]\{[^}]*\}|\\.|\{[^}]*\}|\(\?[^:)]*[:)]")
WORD: Final = re.compile(r"[\w-]{2,}")


def texts_of(tokens: Sequence[str]) -> tuple[str, ...]:
    """The texts in the tokens of a condition, each once."""
    return tuple(dict.fromkeys(_text(t) for t in tokens if t[-1:] in ("'", '"') and len(t) > 1))


def words_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """The words in regular expressions, each once; a class or an escape is none."""
    words_by_pattern = (WORD.findall(NO_WORD.sub(" ", _text(one))) for one in patterns)
    return tuple(dict.fromkeys(word for words in words_by_pattern for word in words))


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
    values: Mapping[str, Any], names: frozenset[str], texts: Sequence[str], *, plain: bool = False
) -> Iterator[dict[str, Any]]:
    """The values with names in the spellings of the condition, where a part of one looks alike.

    With `plain` also in the plain letters that a name looks like, for a regular expression.
    """
    options = {
        field: list(dict.fromkeys([values[field], *_spellings(values[field], texts, plain)]))
        for field in FIELDS
        if field in names and values[field]
    }
    combined = product(*options.values())
    next(combined, None)  # the names as they are
    for chosen in islice(combined, READINGS_MAX):
        yield {**values, **dict(zip(options, chosen, strict=True))}


def _spellings(name: str, texts: Sequence[str], plain: bool) -> Iterator[str]:
    if plain:
        yield plain_letters(name)
        yield plain_letters(name).lower()
    together = name
    for text in texts:
        yield _spelled(name, text)
        together = _spelled(together, text)
    yield together


def _spelled(name: str, text: str) -> str:
    """The name with the text in the place of each part that looks like it, the rest as it is."""
    part = skeleton(text)
    if not part:
        return name
    shown = unicodedata.normalize("NFKC", name).strip()
    seen = [c for c in shown if c.isspace() or skeleton(c)]
    pieces = [" " if c.isspace() else skeleton(c) for c in seen]
    starts = list(accumulate(map(len, pieces), initial=0))
    alike, at, result = "".join(pieces), 0, ""
    while at < len(seen):
        end = starts[at] + len(part)
        if alike.startswith(part, starts[at]) and end in starts:
            result, at = result + text, starts.index(end)
        else:
            result, at = result + seen[at], at + 1
    return result


def _text(token: str) -> str:
    """The value of a text in CEL, whose escapes are Python's but for a few."""
    try:
        value = ast.literal_eval(token)
    except (SyntaxError, ValueError):
        return token.strip("rRbB").strip("'\"")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
