"""The words of recorded values, for the index of the history; pure.

Ids, hashes and ciphertexts are no words: nobody asks for them, and values of encrypted channels
must reach no index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from checkpoints.state.encrypted import ENCRYPTED
from checkpoints.state.references import PUT

CHARACTERS_MAX: Final = 20_000  # of one event
# Members of an event's data that only prove it, or that its checkpoint's row has.
_PROOF: Final = frozenset({"checkpoint", "row", "salt", "seal", "traceparent"})
_ID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12,}\Z")
_JOINED: Final = re.compile(r"[._/:@\-]+")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")
type Leaf = tuple[tuple[str | int, ...], Any]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """(path, value) of each text, number and truth value, in their order."""
    if isinstance(value, Mapping):
        if ENCRYPTED in value:
            return
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif value is not None and value != "" and not is_id(value):
        yield path, value


def is_id(value: Any) -> bool:
    """Return whether a value is the text of an id or a hash."""
    return isinstance(value, str) and len(value) >= 32 and bool(_ID.match(value))


def statement(data: Any) -> dict[str, Any]:
    """Leave out of an event's data what only proves it."""
    if not isinstance(data, Mapping):
        return {}
    return {name: value for name, value in data.items() if name not in _PROOF}


def changed(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Values that a delta gives channels, by channel; none that lie elsewhere."""
    values: dict[str, Any] = {}
    for operation, body in delta.items():
        if operation != PUT and isinstance(body, Mapping):
            values |= {channel: value for channel, value in body.items() if channel not in values}
    return values


def words_of(*values: Any) -> str:
    """The names and values in some JSON as one text for the index, at most CHARACTERS_MAX."""
    parts: list[str] = []
    left = CHARACTERS_MAX
    named: set[str] = set()
    for value in values:
        for path, leaf in leaves(value):
            names = [name for name in path if isinstance(name, str) and name not in named]
            named.update(names)
            text = " ".join([*names, str(leaf)])
            parts.append(text[:left])
            left -= len(text)
            if left <= 0:
                return prepared(" ".join(parts))
    return prepared(" ".join(parts))


def prepared(text: str) -> str:
    """A text as both index and questions give it to the database's parser.

    Numbers lose their thousands' separators. Names of several parts, such as `bank.pay`, are there
    whole and in parts: the parser takes them for hosts and paths.
    """
    text = _THOUSANDS.sub("", text.replace("\x00", ""))
    parts = [_JOINED.sub(" ", word) for word in text.split() if _JOINED.search(word)]
    return f"{text} {' '.join(parts)}" if parts else text
