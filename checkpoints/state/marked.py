"""The marked form: JSON for values that JSON, a double or PostgreSQL would change; pure.

What a tool, server or graph returned is kept exactly, whatever it is. A part that cannot be stored
as it is stands in the record as `{"$exact": {KIND: TEXT}}`, and so does an object that has such a
member by itself, so no value can be taken for a mark. A value without such parts is its own form.

Kinds: `text` (NUL, lone surrogates, as `\\uXXXX`), `int`, `float` (`nan`, `inf`, `-inf`), `bytes`
(base64), `object` (a list of pairs: keys that are no text, or too long), `deep` (what is nested too
deeply: its lists and objects as a table), `raw` (JSON as somebody sent it: names that occur twice,
digits beyond a double), and Python's `tuple`, `set`, `frozenset`, `decimal`, `date`, `time`,
`datetime`, `uuid`. Two come back as their marks: `other` is anything else, by its type and how it
describes itself, without its memory address; `large` is a whole value of more bytes than a record
takes, by its size, SHA-256 and beginning, with the file that holds its form.
"""

from __future__ import annotations

import hashlib
import math
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from ..errors import InvalidValue
from .values import LIMITS, MAX_INTEGER, Refused, as_stored, at, canonical, check

MARK: Final = "$exact"
# Marks, and what wraps a record, need some depth of their own.
DEPTH_MAX: Final = LIMITS.max_depth - 20
SHOWN_MAX: Final = 10_000
SHOWN_BYTES: Final = 32  # of a value of bytes, for people
START_BYTES: Final = 2_000  # of a value that is too large for its record
_READ_IT: Final = "return its items, as by list(...)"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=[ >])")  # another one in each process
_ODD = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


class Raw:
    """JSON as somebody sent it, where reading it would lose some of it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Raw({self.text!r})"


class _NoValue(Exception):
    """A part of a value that is refused."""

    def __init__(self, value: Any, why: str) -> None:
        self.value, self.why = value, why


def _path_of(part: Any, value: Any, path: str = "$", depth: int = DEPTH_MAX) -> str:
    """The path of this very part of a value; empty where it lies in no list or object."""
    if value is part:
        return path
    members: Iterable[tuple[Any, Any]] = ()
    if depth and type(value) is dict:
        members = value.items()
    elif depth and type(value) in (list, tuple):
        members = enumerate(value)
    inner = ((at(path, key), item) for key, item in members if type(key) in (str, int))
    return next((hit for p, item in inner if (hit := _path_of(part, item, p, depth - 1))), "")


def is_plain(value: Any) -> bool:
    """True for a value that is stored as it is: the marked form of it is itself."""
    try:
        check(value)
    except InvalidValue:
        return False
    return not _has_mark(value)


def _has_mark(value: Any) -> bool:
    if type(value) is dict:
        return MARK in value or any(_has_mark(item) for item in value.values())
    return type(value) is list and any(_has_mark(item) for item in value)


def mark(value: Any) -> Any:
    """The form in which a value is recorded: itself, where it can be stored exactly.

    Raises InvalidValue for the path of a file, for what can be read only once (a generator, an open
    file), and for what says of itself that it was refused.
    """
    if is_plain(value):
        return as_stored(value)
    try:
        return as_stored(_marked(value, DEPTH_MAX))
    except _NoValue as error:
        raise InvalidValue(_path_of(error.value, value) or "$", error.why) from None


def unmark(value: Any) -> Any:
    """The value that a record holds, as it was before it was recorded."""
    if type(value) is list:
        return [unmark(item) for item in value]
    if type(value) is not dict:
        return value
    if MARK not in value:
        return {key: unmark(item) for key, item in value.items()}
    inside = value[MARK]
    if type(inside) is dict and len(value) == len(inside) == 1:
        (kind, text), *_ = inside.items()
        if read := _READERS.get(kind):
            return read(text)
    return value  # `other`, `large`, and what a record from before this form holds


def large(raw: bytes, file: Mapping[str, Any] | None) -> dict[str, Any]:
    """The mark of a form too large for its record; `raw` is its canonical bytes.

    `file` is the reference to the artifact that holds these bytes; None where it could not be kept.
    """
    return _as(
        "large",
        {
            "bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
            "start": raw[:START_BYTES].decode(errors="ignore"),
            "file": None if file is None else dict(file),
        },
    )


def large_part(form: Any) -> dict[str, Any] | None:
    """Read the mark of a form too large for its record; None for any other form."""
    inside = form.get(MARK) if type(form) is dict and len(form) == 1 else None
    part = inside.get("large") if type(inside) is dict and len(inside) == 1 else None
    is_large = type(part) is dict and part.keys() == {"bytes", "sha256", "start", "file"}
    return part if is_large else None


def marks(value: Any, path: str = "$") -> list[tuple[str, str]]:
    """(JSON path, kind) of each mark in a record, for pages that say what they show."""
    if type(value) is list:
        return [one for i, item in enumerate(value) for one in marks(item, f"{path}[{i}]")]
    if is_mark(value):
        return [(path, kind) for kind in value[MARK]]
    if type(value) is not dict:
        return []
    return [one for key, item in value.items() for one in marks(item, f"{path}.{key}")]


def is_mark(value: Any) -> bool:
    """True for a mark, which people read by what it stands for."""
    inside = value.get(MARK) if type(value) is dict and len(value) == 1 else None
    if type(inside) is not dict or len(inside) != 1:
        return False
    return all(kind in _READERS or kind in _KEPT_AS_MARKS for kind in inside)


def shown(value: Any) -> Any:
    """JSON for people: what each mark in a record stands for, as they would write it.

    Nothing to calculate with: characters that no page can show are replaced, and long parts cut.
    """
    if type(value) is list:
        return [shown(item) for item in value]
    if type(value) is not dict:
        return value
    if not is_mark(value):
        return {key: shown(item) for key, item in value.items()}
    (kind, part), *_ = value[MARK].items()
    try:
        return _SHOWN.get(kind, _as_written)(part)
    except (ValueError, TypeError, KeyError, AttributeError):
        return value  # somebody's own, in the form of a mark


def _as_written(part: Any) -> Any:
    """A number, a date or the like by its text; what a value says of itself; items of a tuple."""
    return shown(part.get("text") if type(part) is dict else part)


def _shown_bytes(part: str) -> str:
    raw = b64decode(part)
    cut = "…" if len(raw) > SHOWN_BYTES else ""
    return f"{len(raw):,} bytes: {raw[:SHOWN_BYTES].hex(' ')}{cut}"


def _shown_text(part: str) -> str:
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), part).replace("\0", "\u2400")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _shown_large(part: dict[str, Any]) -> dict[str, Any]:
    storage = "kept as a file" if part["file"] else "not kept"
    size = f"{part['bytes']:,} bytes, {storage}"
    return {"size": size, "file": part["file"], "begins": part["start"]}


def _shown_pairs(part: list[Any]) -> Any:
    pairs = [(shown(key), shown(item)) for key, item in part]
    return {k if type(k) is str else canonical(k).decode(): item for k, item in pairs}


def readable(value: Any) -> Any:
    """The record with the texts that are in its marks in clear, to be searched for secrets."""
    if type(value) is list:
        return [readable(item) for item in value]
    if type(value) is not dict:
        return value
    inside = value.get(MARK)
    if len(value) == 1 and type(inside) is dict and len(inside) == 1:
        (kind, text), *_ = inside.items()
        if kind == "bytes" and isinstance(text, str):
            return b64decode(text).decode("latin-1")
        if kind in ("text", "raw") and isinstance(text, str):
            return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return {key: readable(item) for key, item in value.items()}


def _as(kind: str, text: Any) -> dict[str, Any]:
    return {MARK: {kind: text}}


def _marked(value: Any, depth: int, above: tuple[int, ...] = ()) -> Any:
    """The form of a value; `depth` is the depth left, `above` what it is inside of."""
    kind = type(value)
    if (leaf := _leaf(value)) is not _CONTAINER:
        return leaf
    if id(value) in above:
        return _other(value, "it contains itself")
    if depth <= 0:
        return _as("deep", _table(value))
    inner = (*above, id(value))
    if kind is list:
        return [_marked(item, depth - 1, inner) for item in value]
    if kind is dict and all(_is_plain_key(key) for key in value):
        return {key: _marked(item, depth - 1, inner) for key, item in value.items()}
    if kind is dict:
        return _as(
            "object", [[_marked(x, depth - 4, inner) for x in pair] for pair in value.items()]
        )
    items = [_marked(item, depth - 3, inner) for item in value]
    return _as(kind.__name__, items if kind is tuple else sorted(items, key=canonical))


_CONTAINER: Final = object()


def _leaf(value: Any) -> Any:
    """The form of a value that contains no others; else `_CONTAINER`."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _as("text", _escaped(value)) if _UNSTORABLE.search(value) else value
    if kind is int:
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
        # Python reads and writes no decimal text of more than 4,300 digits.
        return _as("int", str(value) if abs(value) < 10**1_000 else hex(value))
    if kind is float:
        return value if math.isfinite(value) else _as("float", repr(value))
    if kind in _WRITERS:
        name, write = _WRITERS[kind]
        return _as(name, write(value))
    if isinstance(value, Refused):
        raise _NoValue(value, value.message)
    if isinstance(value, Iterator | AsyncIterator | Awaitable):
        # It gives its items to the first reader only, and a repeated step could not read it again.
        raise _NoValue(value, f"{kind.__name__} has no JSON: it can be read once; {_READ_IT}")
    if isinstance(value, PurePath):
        # It names a file of the machine that made it, which is gone with its scratch folder.
        raise _NoValue(value, f"{kind.__name__} is not a JSON type")
    return _CONTAINER if kind in _CONTAINERS else _other(value)


def _other(value: Any, why: str = "") -> dict[str, Any]:
    kind = type(value)
    try:
        text = why or _ADDRESS.sub("", repr(value))
    except Exception as error:  # a foreign __repr__ may do anything
        text = f"it cannot be described: {type(error).__name__}"
    described = {"type": f"{kind.__module__}.{kind.__qualname__}", "text": text[:SHOWN_MAX]}
    return _as("other", {name: _leaf(part) for name, part in described.items()})


def _table(value: Any) -> list[Any]:
    """A value nested too deeply, without recursion: each list and object, parts by their places."""
    table: list[Any] = []
    places = {id(value): 0}
    waiting = [value]

    def index_of(item: Any) -> Any:
        if type(item) not in (list, dict):
            leaf = _leaf(item)
            return [_other(item) if leaf is _CONTAINER else leaf]
        if id(item) not in places:
            places[id(item)] = len(places)
            waiting.append(item)
        return places[id(item)]

    for item in waiting:
        if type(item) is list:
            table.append([index_of(part) for part in item])
        else:
            table.append({"pairs": [[_leaf(key), index_of(part)] for key, part in item.items()]})
    return table


def _from_table(table: list[Any]) -> Any:
    made: list[Any] = [[] if type(row) is list else {} for row in table]

    def part(index: Any) -> Any:
        return unmark(index[0]) if type(index) is list else made[index]

    for row, target in zip(table, made, strict=True):
        if type(row) is list:
            target.extend(part(index) for index in row)
        else:
            target.update((unmark(key), part(index)) for key, index in row["pairs"])
    return made[0]


def _escaped(text: str) -> str:
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _is_plain_key(key: Any) -> bool:
    fits = type(key) is str and len(key) <= LIMITS.key_chars and key != MARK
    return fits and not _UNSTORABLE.search(key)


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_CONTAINERS: Final = frozenset({list, dict, tuple, set, frozenset})
_WRITERS: Final[dict[type, tuple[str, Callable[[Any], str]]]] = {
    Raw: ("raw", lambda value: str(value.text)),
    bytes: ("bytes", lambda value: b64encode(value).decode()),
    Decimal: ("decimal", str),
    datetime: ("datetime", lambda value: str(value.isoformat())),
    date: ("date", lambda value: str(value.isoformat())),
    time: ("time", lambda value: str(value.isoformat())),
    UUID: ("uuid", str),
}
_KEPT_AS_MARKS: Final = ("other", "large")
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "text": lambda text: _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text),
    "int": lambda text: int(text, 0),
    "float": float,
    "bytes": lambda text: b64decode(text),
    "object": lambda pairs: {unmark(key): unmark(item) for key, item in pairs},
    "deep": _from_table,
    "raw": Raw,
    "tuple": lambda items: tuple(unmark(item) for item in items),
    "set": lambda items: {unmark(item) for item in items},
    "frozenset": lambda items: frozenset(unmark(item) for item in items),
    "decimal": Decimal,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "datetime": datetime.fromisoformat,
    "uuid": UUID,
}
_SHOWN: Final[dict[str, Callable[[Any], Any]]] = {
    "text": _shown_text,
    "bytes": _shown_bytes,
    "float": lambda part: {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(part, part),
    "object": _shown_pairs,
    "deep": lambda part: f"{len(part):,} lists and objects, nested too deeply to show",
    "large": _shown_large,
}
