"""Read-only views of stored values: they copy references, and refuse changes by the channel.

They are a list and a dict, for `isinstance` and for code in C such as `json.dumps`, which reads
the stored values that they hold. A list or dict of models builds each model when it is looked at,
so that a view of a long channel costs what the node reads of it, and the copy of its references.
What is read by slicing, adding or copying is an ordinary value.
"""

from __future__ import annotations

import copy
import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel, RootModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from checkpoints.state.deltas import LIMITS, NO_BYTES, Refused, canonical, copied

if TYPE_CHECKING:  # what they promise: nothing of them may be changed

    class _List(Sequence[Any]): ...

    class _Dict(Mapping[str, Any]): ...
else:
    _List, _Dict = list, dict

_NO_SLOTS: tuple[str, ...] = ()  # those of a list or dict are its own

type Build = Callable[[Any], Any]

# Below this depth values stay as they are: the checker refuses them a little above it.
_DEPTH = LIMITS.max_depth + 20


class FrozenState(TypeError):
    """State is read-only in a node: return the change instead."""


def _refuse(channel: str) -> NoReturn:
    if channel == "ctx.config":
        raise FrozenState("ctx.config is read-only in a node: fork with another config instead.")
    raise FrozenState(
        f"The state is read-only in a node: return {{{channel!r}: ...}} instead of changing it."
    )


def _change(self: _Frozen, *_args: Any, **_kwargs: Any) -> NoReturn:
    _refuse(self._channel)


class _Frozen:
    """The base of frozen lists and dicts; `build` makes an author's type of a stored value."""

    __slots__ = _NO_SLOTS
    _build: Build | None
    _built: dict[Any, Any]
    _channel: str
    _items: Any

    def __init__(self, items: Any, channel: str, build: Build | None = None) -> None:
        hold: Any = super().__init__  # of the list or dict
        hold(items)
        self._items = items
        self._channel = channel
        self._build = build
        self._built = {}

    def _at(self, key: Any) -> Any:
        """The value at a key or (not negative) index; of one view always the same object."""
        if self._build is None:
            return freeze(self._items[key], self._channel)
        if key not in self._built:
            self._built[key] = self._build(self._items[key])
        return self._built[key]

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __deepcopy__(self, _memo: Any) -> Any:
        return self.copy()

    def __copy__(self) -> Any:
        return self.copy()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return type(self).__bases__[-1], (self.copy(),)

    def copy(self) -> Any:
        """An ordinary list or dict of the author's own, which may be changed."""
        raise NotImplementedError

    __setitem__ = __delitem__ = __iadd__ = __imul__ = __ior__ = _change


class FrozenList(_Frozen, _List):
    """A list that cannot be changed; items come frozen, or as the author's models."""

    __slots__ = ("_build", "_built", "_channel", "_items")
    __hash__ = _Frozen.__hash__
    __contains__, __reversed__ = Sequence.__contains__, Sequence.__reversed__
    index, count = Sequence.index, Sequence.count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._at(i) for i in range(*index.indices(len(self._items)))]
        position = operator.index(index)
        if not -len(self._items) <= position < len(self._items):
            raise IndexError("list index out of range")
        return self._at(position % len(self._items))

    def __iter__(self) -> Iterator[Any]:
        return (self._at(i) for i in range(len(self._items)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenList):
            return bool(self._items == other._items)
        if not isinstance(other, list):
            return NotImplemented
        return self.copy() == other if self._build else bool(self._items == thaw(other))

    def __add__(self, other: Any) -> list[Any]:
        return [*self.copy(), *thaw(other)]

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self.copy()]

    def __mul__(self, times: Any) -> list[Any]:
        return [*self.copy() * times]

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return repr(list(self) if self._build else self._items)

    def copy(self) -> list[Any]:
        """An ordinary list of the author's own, which may be changed."""
        return list(self) if self._build else copied(self._items)

    append = extend = insert = pop = remove = clear = sort = reverse = _change


class FrozenDict(_Frozen, _Dict):
    """A dict that cannot be changed; values come frozen, or as the author's models."""

    __slots__ = ("_build", "_built", "_channel", "_items")
    __hash__ = _Frozen.__hash__
    keys, items, values, get = Mapping.keys, Mapping.items, Mapping.values, Mapping.get

    def __getitem__(self, key: str) -> Any:
        return self._at(key)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenDict):
            return bool(self._items == other._items)
        if not isinstance(other, dict):
            return NotImplemented
        return self.copy() == other if self._build else bool(self._items == thaw(other))

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self.copy(), **thaw(other)}

    def __ror__(self, other: Any) -> dict[str, Any]:
        return {**other, **self.copy()}

    def __repr__(self) -> str:
        return repr(dict(self) if self._build else self._items)

    def copy(self) -> dict[str, Any]:
        """An ordinary dict of the author's own, which may be changed."""
        return dict(self) if self._build else copied(self._items)

    pop = popitem = clear = update = setdefault = _change


def freeze(value: Any, channel: str) -> Any:
    """A view of a JSON value that cannot be changed; nothing is copied."""
    if type(value) is list:
        return FrozenList(value, channel)
    if type(value) is dict:
        return FrozenDict(value, channel)
    return value


def thaw(value: Any, room: int = _DEPTH) -> Any:
    """Ordinary values from an update that may hold frozen views; views are copied deeply."""
    if isinstance(value, _Frozen):
        return value.copy()
    if room == 0:
        return value
    if isinstance(value, list):
        # A text, which most items are, without the cost of a call.
        return [x if type(x) is str else thaw(x, room - 1) for x in value]
    if isinstance(value, dict):
        return {k: thaw(v, room - 1) for k, v in value.items()}
    return value


def plain(value: Any, room: int = _DEPTH) -> Any:
    """JSON from arguments and results that may hold frozen views or models; copied deeply.

    What cannot be written as JSON stays in its place, for `deltas.check` to name.
    """
    if isinstance(value, BaseModel):
        return jsonable(value)
    if isinstance(value, _Frozen):
        return copied(value._items)  # noqa: SLF001 - the same module
    if room == 0:
        return value
    if isinstance(value, list):
        return [plain(x, room - 1) for x in value]
    if isinstance(value, dict):
        return {k: plain(v, room - 1) for k, v in value.items()}
    return value


class _Bytes(ValueError):
    """Bytes in a value whose type has no form for all of them."""


def jsonable(value: Any) -> Any:
    """The JSON of a value with models in it; a `Refused` that says why where there is none.

    Bytes are refused whatever they are: Pydantic would write those that happen to be UTF-8 as text.
    A model or dataclass that has a form for any bytes (`ser_json_bytes="base64"`) is written so.
    """
    try:
        return _checked(value, to_jsonable_python(value))
    except (_Bytes, UnicodeDecodeError):
        return Refused(NO_BYTES)
    except PydanticSerializationError as error:
        utf8 = "invalid utf-8" in str(error)
        return Refused(NO_BYTES if utf8 else _no_json(value, error))
    except (ValueError, TypeError, RecursionError) as error:
        return Refused(_no_json(value, error))


def _no_json(value: Any, error: Exception) -> str:
    return f"{type(value).__name__} cannot be written as JSON: {error}"


def _checked(value: Any, dumped: Any) -> Any:
    """The JSON of a value with its sets in one order, whatever the process that made them.

    `dumped` is the JSON of `value`, item by item in the order of the value. Raises _Bytes.
    """
    if isinstance(value, Enum):
        return _checked(value.value, dumped)
    if isinstance(value, bytes | bytearray):
        if isinstance(dumped, str) and dumped.encode() == value:
            raise _Bytes
        return dumped
    if isinstance(value, set | frozenset):
        items = [_checked(*pair) for pair in zip(value, dumped, strict=True)]
        return sorted(items, key=canonical)
    if isinstance(value, list | tuple | deque) and isinstance(dumped, list):
        return [_checked(*pair) for pair in zip(value, dumped, strict=True)]
    if isinstance(value, dict) and isinstance(dumped, dict) and len(value) == len(dumped):
        if any(isinstance(key, bytes) for key in value):
            raise _Bytes
        pairs = zip(value.values(), dumped.items(), strict=True)
        return {name: _checked(inner, outer) for inner, (name, outer) in pairs}
    if isinstance(value, RootModel):
        return _checked_member(value, "root", dumped)
    if isinstance(dumped, dict) and (isinstance(value, BaseModel) or is_dataclass(value)):
        fields: Any = getattr(type(value), "__pydantic_fields__", {})
        names = {
            field.serialization_alias or field.alias or name: name for name, field in fields.items()
        }
        return {
            name: _checked_member(value, str(names.get(name, name)), inner)
            for name, inner in dumped.items()
        }
    return dumped


def _checked_member(owner: Any, name: str, dumped: Any) -> Any:
    member = getattr(owner, name, dumped)
    if isinstance(member, bytes | bytearray) and _takes_any_bytes(owner, name):
        return dumped
    return _checked(member, dumped)


def _takes_any_bytes(owner: Any, name: str) -> bool:
    """Answer True if a model or dataclass writes any bytes of this member in a form of its own."""
    twin = copy.copy(owner)
    try:
        object.__setattr__(twin, name, b"\xff")  # no UTF-8
        to_jsonable_python(twin)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False
    return True
