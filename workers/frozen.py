"""Read-only views of stored values: O(1) to make, refusing every change by the channel's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn


class FrozenState(TypeError):
    """State is read-only in a node: return the change instead."""


def _refuse(channel: str) -> NoReturn:
    raise FrozenState(
        f"The state is read-only in a node: return {{{channel!r}: ...}} instead of changing it."
    )


class FrozenList(Sequence[Any]):
    """A list that cannot be changed; items come frozen."""

    __slots__ = ("_channel", "_items")

    def __init__(self, items: list[Any], channel: str) -> None:
        self._items = items
        self._channel = channel

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [freeze(x, self._channel) for x in self._items[index]]
        return freeze(self._items[index], self._channel)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (freeze(x, self._channel) for x in self._items)

    def __eq__(self, other: object) -> bool:
        return bool(self._items == thaw(other))

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'FrozenList'")

    def __add__(self, other: Any) -> list[Any]:
        return [*self._items, *thaw(other)]

    def __repr__(self) -> str:
        return repr(self._items)

    def _change(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        _refuse(self._channel)

    append = extend = insert = pop = remove = clear = sort = reverse = _change
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _change


class FrozenDict(Mapping[str, Any]):
    """A dict that cannot be changed; values come frozen."""

    __slots__ = ("_channel", "_items")

    def __init__(self, items: dict[str, Any], channel: str) -> None:
        self._items = items
        self._channel = channel

    def __getitem__(self, key: str) -> Any:
        return freeze(self._items[key], self._channel)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return bool(self._items == thaw(other))

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'FrozenDict'")

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self._items, **thaw(other)}

    def __repr__(self) -> str:
        return repr(self._items)

    def _change(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        _refuse(self._channel)

    pop = popitem = clear = update = setdefault = _change
    __setitem__ = __delitem__ = __ior__ = _change


def freeze(value: Any, channel: str) -> Any:
    """A view of a JSON value that cannot be changed; nothing is copied."""
    if type(value) is list:
        return FrozenList(value, channel)
    if type(value) is dict:
        return FrozenDict(value, channel)
    return value


def thaw(value: Any) -> Any:
    """Plain JSON from what may hold frozen views (arguments, updates); views are copied deeply."""
    if isinstance(value, FrozenList):
        return [thaw(x) for x in value._items]
    if isinstance(value, FrozenDict):
        return {k: thaw(v) for k, v in value._items.items()}
    if isinstance(value, list):
        return [thaw(x) for x in value]
    if isinstance(value, dict):
        return {k: thaw(v) for k, v in value.items()}
    return value
