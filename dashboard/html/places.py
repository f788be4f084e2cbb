"""Addresses of parts of a state: JSON Pointers, for trees that leave parts to a page of their own.

A tree is bounded; what it does not show immediately is at `/threads/value/`, as a whole or beside
the same part of another checkpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString

from dashboard.fields.parameters import POINTER_MAX

from .differences import is_file

LONG: Final = 400  # characters of a string that is cut in a tree
ENDS: Final = 200  # items at either end of a long list: a tree shows hardly any others

type Pair = tuple[Any, Any]


def part_at(value: Any, pointer: str) -> Any:
    """The part of a JSON value at a JSON Pointer; raises LookupError."""
    for name in _names(pointer):
        if isinstance(value, Mapping):
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdecimal() and len(name) < 10:
            value = value[int(name)]
        else:
            raise LookupError(pointer)
    return value


def name_of(pointer: str) -> str:
    """The last name of a pointer, "" of the whole."""
    return next(iter([*_names(pointer)][-1:]), "")


def parents(pointer: str) -> list[tuple[str, str]]:
    """(name, pointer) of what leads to a part, itself last."""
    names = list(_names(pointer))
    return [(name, _joined(names[: nth + 1])) for nth, name in enumerate(names)]


def pointer_to(name: str) -> str:
    """The pointer of a member of the whole."""
    return f"/{_escaped(name)}"


def _names(pointer: str) -> Iterator[str]:
    for raw in pointer.split("/")[1:]:
        yield raw.replace("~1", "/").replace("~0", "~")


def _joined(names: list[str]) -> str:
    return "".join(f"/{_escaped(name)}" for name in names)


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


def value_address(of: str, at: str, against: str = "", was: str = "", start: int = 0) -> str:
    """The page of the part at `at` of the checkpoint `of`; `against` the part `was` of another.

    Checkpoints are named as on the page that compares, THREAD:NUMBER; `start` is the first line.
    """
    query = {"of": of, "at": at, "against": against, "was": was if was != at else ""}
    known = {key: value for key, value in query.items() if value}
    more = {"start": start} if start else {}
    return f"{reverse('thread_value')}?{urlencode(known | more, safe='/:')}"


class Places:
    """One state: its checkpoint as THREAD:NUMBER, and where the root of a tree stands in it.

    Pointers are made for the parts of what a tree opens, so a page does not go through a whole
    state for its links; other parts are looked for when they are asked for.
    """

    def __init__(self, checkpoint: str, root: Any, at: str = "") -> None:
        self.checkpoint, self.root, self.at = checkpoint, root, at
        self._opened = deque([root])
        # {id of a part: (pointer of its container, its key there)}. By identity: each container and
        # long text of a decoded state is an object of its own.
        self._known: dict[int, tuple[str, Any]] = {}
        self._done: set[int] = set()
        self._long: list[tuple[str, list[Any]]] = []  # known by their ends so far
        self._whole = False

    def open(self, value: Any) -> None:
        """Take note that the parts of a container are drawn, if it is one of this state."""
        self._opened.append(value)

    def pointer(self, value: Any) -> str | None:
        """The pointer of a part of the root; None where it is not one or cannot be an address."""
        while (result := self._pointer(value)) is None and self._long:
            pointer, items = self._long.pop()
            self._known |= {id(item): (pointer, key) for key, item in enumerate(items)}
        if result is None and not self._whole:
            self._whole = True
            for owner in (left := [self.root]):
                left += _containers_in(owner)
            self._opened.extend(left)
            result = self._pointer(value)
        return None if result is None or len(result) > POINTER_MAX else result

    def _pointer(self, value: Any) -> str | None:
        while (result := self._at(value)) is None and self._opened:
            self._index(self._opened.popleft())
        return result

    def _at(self, value: Any) -> str | None:
        if value is self.root:
            return self.at
        if (known := self._known.get(id(value))) is None:
            return None
        pointer, key = known
        return f"{pointer}/{_escaped(key)}"

    def _index(self, owner: Any) -> None:
        pointer = None if id(owner) in self._done else self._at(owner)
        if pointer is not None and isinstance(owner, Mapping | list):
            self._done.add(id(owner))
            if isinstance(owner, Mapping):
                self._known |= {id(item): (pointer, key) for key, item in owner.items()}
                return
            ends: Sequence[int] = range(len(owner))
            if len(owner) > 4 * ENDS:
                self._long.append((pointer, owner))
                ends = (*ends[:ENDS], *ends[-ENDS:])
            self._known |= {id(owner[key]): (pointer, key) for key in ends}


def _containers_in(value: Any) -> list[Any]:
    if is_file(value):
        return []
    inner = value.values() if isinstance(value, Mapping) else value
    return [item for item in inner if isinstance(item, Mapping | list)]


@dataclass(frozen=True)
class Sides:
    """The states that a tree is drawn from: a new one, and in a comparison an old one.

    `notes` stand behind channels of the new one.
    """

    new: Places
    old: Places | None = None
    notes: Mapping[str, SafeString] = field(default_factory=dict, repr=False)

    def open(self, new: Any, old: Any) -> None:
        """The parts of these are drawn: their addresses may be asked for."""
        self.new.open(new)
        if self.old:
            self.old.open(old)

    def address(self, new: Any, old: Any, *, removed: bool = False, start: int = 0) -> str:
        """The page of a part, of both states where both have it; "" where there is none.

        `old` is None outside of what is compared; what was `removed` is a part of the old state.
        """
        if removed:
            at = self.old.pointer(new) if self.old else None
            if self.old is None or at is None:
                return ""
            return value_address(self.old.checkpoint, at, start=start)
        at = self.new.pointer(new)
        was = self.old.pointer(old) if self.old and old is not None else None
        if at is None:
            return ""
        if self.old is None or was is None:
            return value_address(self.new.checkpoint, at, start=start)
        return value_address(self.new.checkpoint, at, self.old.checkpoint, was, start)
