"""Values of LangGraph as JSON and back: no pickle, no msgpack, no class that data names."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from ..wire.errors import InvalidValue
from .forms import TAG, VALUE, Forms

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 90
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HALF = re.compile("[\ud800-\udfff]")


def check_searchable(names: Iterable[str], state: Mapping[str, Any]) -> None:
    """Refuse values that people could not write in a query: InvalidValue names the channel."""
    for name in names:
        if kind := _type_in(state.get(name)):
            raise InvalidValue(
                f"{name} is searchable and holds a {kind}, which nobody could search for. "
                "Keep it as text, or take the name off `searchable`."
            )


def _type_in(value: Any) -> str:
    """The name of the first value that is no plain JSON; empty where all is."""
    if isinstance(value, dict) and TAG in value:
        return str(value[TAG])
    members = value.values() if isinstance(value, dict) else value
    return next(filter(None, map(_type_in, members)), "") if isinstance(value, (dict, list)) else ""


class JsonSerializer:
    """Encodes and decodes the values of channels and writes; LangGraph's `serde` as well.

    Strings, numbers, lists and objects stand for themselves, so that people can read and edit
    them. All else is `{"$type": name, "value": ...}`, with names of a fixed list: messages and
    documents of LangChain in their own JSON form, `Send`, `Interrupt`, `Overwrite`, snapshots,
    bytes, sets, dates, zones, UUIDs, Decimals, fractions, paths, patterns, addresses of networks,
    numbers and texts that JSON cannot hold, and mappings with keys that are no text. Tuples come
    back as lists (as keys they stay tuples) and exceptions as their text, as with LangGraph's own
    serializer.

    `types` are classes of yours (pydantic models, dataclasses, named tuples, enums) that may
    stand in a state. Whatever else is met is refused: InvalidValue names its path.
    """

    def __init__(self, types: Iterable[type] = ()) -> None:
        # Others have a form of the fixed list or none.
        self._own = {_name_of(kind): kind for kind in types if _has_members(kind)}
        self._forms = Forms()

    def encode(self, value: Any, path: str = "$") -> Any:
        """A value as JSON; raises InvalidValue with the path of what cannot be."""
        return self._encoded(value, path, MAX_DEPTH)

    def decode(self, value: Any) -> Any:
        """The value that was encoded; raises InvalidValue for a type that is not listed."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if TAG not in value:
            return {key: self.decode(item) for key, item in value.items()}
        return self._revived(value)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode a value to the bytes of JSON, as LangGraph's serializers do."""
        text = json.dumps(self.encode(obj), allow_nan=False, ensure_ascii=False)
        return "json", text.encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Decode what `dumps_typed` encoded; raises InvalidValue for any other form."""
        kind, content = data
        if kind != "json":
            raise InvalidValue(f"A value in the form {kind!r} is not read, only json.")
        return self.decode(json.loads(content))

    def _encoded(self, value: Any, path: str, room: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        kind = type(value)
        if isinstance(value, str) and not isinstance(value, Enum):
            return str(value) if _is_text(value) else {TAG: "text", VALUE: _escaped(value)}
        if kind is int:
            small = -MAX_INTEGER <= value <= MAX_INTEGER
            return value if small else {TAG: "int", VALUE: str(value)}
        if kind is float:
            return _number(value)
        if room == 0:
            raise InvalidValue(f"{path} is nested too deeply, or contains itself")
        if kind is tuple or isinstance(value, list):
            return [self._encoded(v, f"{path}[{i}]", room - 1) for i, v in enumerate(value)]
        if isinstance(value, dict):
            if not all(isinstance(key, str) and _is_text(key) for key in value):
                return {TAG: "map", VALUE: self._pairs(value, path, room)}
            members = {str(k): self._encoded(v, _at(path, k), room - 1) for k, v in value.items()}
            # A member of this name would be read as a tag.
            return {TAG: "dict", VALUE: members} if TAG in members else members
        name, content = self._parts(value, path)
        encoded = self._encoded(content, path, room - 1)
        return encoded if name == "" else {TAG: name, VALUE: encoded}

    def _pairs(self, value: Mapping[Any, Any], path: str, room: int) -> list[list[Any]]:
        """The members of a mapping that has keys which are no text, in their order."""
        return [
            [self._key(key, path, room - 1), self._encoded(item, _at(path, key), room - 1)]
            for key, item in value.items()
        ]

    def _key(self, key: Any, path: str, room: int) -> Any:
        """A key as JSON; a tuple stays one, since no list can be a key."""
        if type(key) is not tuple:
            return self._encoded(key, f"{path} (key)", room)
        if room == 0:
            raise InvalidValue(f"{path} is nested too deeply, or contains itself")
        return {TAG: "tuple", VALUE: [self._key(item, path, room - 1) for item in key]}

    def _parts(self, value: Any, path: str) -> tuple[str, Any]:
        """The name and the content of a value that is not JSON; the name is empty for a text."""
        kind = type(value)
        name = _name_of(kind)
        if self._own.get(name) is kind:
            return name, _content(value)
        if form := self._forms.of(value):
            return form
        cure = (
            f"If it may stand in the state, name its class: types=[{kind.__name__}]"
            if _has_members(kind)
            else "Keep a text, a number, a list or an object in its place."
        )
        raise InvalidValue(f"{path} is a {name}, which cannot be stored. {cure}")

    def _revived(self, value: Mapping[str, Any]) -> Any:
        name, content = value.get(TAG), value.get(VALUE)
        if name == "dict" and isinstance(content, dict):
            return {key: self.decode(item) for key, item in content.items()}
        if (kind := self._own.get(str(name))) is not None:
            return _rebuilt(kind, self.decode(content))
        return self._forms.revive(str(name), self.decode(content))


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_text(value: str) -> bool:
    """True for a text that PostgreSQL's JSON can hold: no NUL, no half of a surrogate pair."""
    return not isinstance(value, Enum) and "\0" not in value and not _HALF.search(value)


def _escaped(value: str) -> str:
    """A text that JSON cannot hold, in Python's escapes, which people can read."""
    return value.encode("unicode_escape").decode("ascii")


def _number(value: float) -> Any:
    # JSON has no such numbers, and one kind of number: 2.0 would come back as 2.
    if not math.isfinite(value) or value.is_integer():
        return {TAG: "float", VALUE: repr(value)}
    return value


def _at(path: str, key: Any) -> str:
    if not isinstance(key, str):
        return f"{path}[{repr(key)[:80]}]"
    return f"{path}.{key}" if _PLAIN_NAME.fullmatch(key) else f"{path}[{json.dumps(key[:80])}]"


def _has_members(kind: type) -> bool:
    """True for a class whose objects can be taken apart and made anew once the user names it."""
    return (
        issubclass(kind, Enum)
        or hasattr(kind, "model_fields")
        or dataclasses.is_dataclass(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_asdict"))
    )


def _content(value: Any) -> Any:
    """The members of an object of a class that the user named."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "model_fields_set"):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    raise InvalidValue(
        f"{type(value).__name__} is not a pydantic model, dataclass, named tuple or enum"
    )


def _rebuilt(kind: type, content: Any) -> Any:
    if issubclass(kind, Enum):
        return kind(content)
    if not isinstance(content, dict):
        raise InvalidValue(f"A {kind.__name__} has members.")
    if dataclasses.is_dataclass(kind):
        initial = {f.name for f in dataclasses.fields(kind) if f.init}
        value = kind(**{name: content[name] for name in content if name in initial})
        for name in content.keys() - initial:
            object.__setattr__(value, name, content[name])
        return value
    return kind(**content)
