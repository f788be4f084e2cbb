"""The values of a proposal, ready to be recognised in what is read; equal ones only once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from . import texts
from .dates import dates_in
from .hints import Hints, longest_piece, pieces_of, pieces_of_json
from .leaves import Form, Leaf, forms, number_of, unit_in
from .numbers import LARGE, is_strong, numbers_in, values_in
from .units import agree, same_key, unit_of_key

SHARED: Final = 8  # a value that more objects have in common identifies none of them
REMEMBERED: Final = 5_000  # values that were compared already
TEXT_MAX: Final = 2_000  # characters of a value that is looked for inside of texts


@dataclass(slots=True)
class Needle:
    """One value under one key, and the objects of the proposal that have it: {object: leaf}."""

    value: Any
    key: str
    unit: str
    own_unit: bool
    members: dict[int, int] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)  # further leaves of the same objects
    number: Decimal | None = field(init=False)
    strong: bool = field(init=False)  # says enough by itself; else its key has to stand there too

    def __post_init__(self) -> None:
        self.number = number_of(self.value)
        if self.number is not None:
            self.strong = is_strong(self.number)
        else:
            self.strong = isinstance(self.value, str) and not texts.is_weak(self.value.strip())

    @property
    def distinctive(self) -> bool:
        """Return whether it identifies one object: strong, and not the same in most of them."""
        return self.strong and len(self.members) <= SHARED

    def leaves(self) -> Iterator[int]:
        """The leaves that have it."""
        yield from self.members.values()
        yield from self.others


class Needles:
    """Those of a proposal, by their forms and by a word or digits of those that texts may hold."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.every: list[Needle] = []
        self._forms: dict[Form, list[Needle]] = defaultdict(list)
        self._pieces: dict[str, list[tuple[str, Needle]]] = defaultdict(list)
        self._hints = Hints()
        self._values: dict[tuple[Any, ...], list[Needle]] = {}
        known: dict[tuple[Any, ...], Needle] = {}
        for n, leaf in enumerate(leaves):
            mark = (type(leaf.value).__name__, repr(leaf.value), leaf.key, leaf.unit, leaf.own_unit)
            needle = known.get(mark)
            if needle is None:
                needle = known[mark] = Needle(leaf.value, leaf.key, leaf.unit, leaf.own_unit)
                self._add(needle)
            if leaf.group in needle.members:
                needle.others.append(n)
            else:
                needle.members[leaf.group] = n

    def _add(self, needle: Needle) -> None:
        self.every.append(needle)
        for kind, value in forms(needle.value):
            self._hints.add(kind, value)
            if kind != "day":  # the day of a moment is less than the moment
                self._forms[kind, value].append(needle)
        if isinstance(needle.value, str) or needle.number is not None:
            text = texts.compact(texts.normal(str(needle.value)))
            if piece := longest_piece(text):
                self._hints.words.add(piece)
                # A longer one is compared with whole values only.
                if len(text) <= TEXT_MAX:
                    self._pieces[piece].append((text, needle))

    def may_be_in_json(self, text: str) -> bool:
        """Return whether JSON text may hold any of them; quick, wrong only when it says yes."""
        return "\\u" in text or self._hints.may_hold(pieces_of_json(text))

    def of_value(self, value: Any, key: str, unit: str, *, commas: bool = False) -> list[Needle]:
        """Those that a whole value under a key is, in the order of the proposal.

        `unit` is what the members beside the value name.
        """
        if not self._hints.may_be(value):
            return []
        mark = (type(value), value, key, unit, commas)
        known = self._values.get(mark)
        if known is None:
            known = self._of_value(value, key, unit, commas=commas)
            if len(self._values) < REMEMBERED:
                self._values[mark] = known
        return known

    def _of_value(self, value: Any, key: str, unit: str, *, commas: bool) -> list[Needle]:
        results: list[Needle] = []
        here = unit_in(value) or unit_of_key(key) or unit
        for kind, form in forms(value, commas=commas):
            wanted = "date" if kind == "day" else kind
            for needle in self._forms.get((wanted, form), ()):
                keyed = same_key(needle.key, key)
                if kind == "number":
                    good = _number_agrees(needle, form, here, keyed=keyed)
                elif kind in {"day", "literal"}:
                    good = keyed and kind == "day"
                elif kind == "text":  # of a number the unit has to agree as well
                    good = needle.number is None and (keyed or needle.strong)
                else:
                    good = True
                if good and needle not in results:
                    results.append(needle)
        return results

    def literals(self, value: Any, key: str) -> list[Needle]:
        """Those that are the same true, false or null under the same key."""
        needles = self._forms.get(("literal", value), ())
        return [n for n in needles if n.value is value and same_key(n.key, key)]

    def equal_to(self, value: Any) -> list[Needle]:
        """Those that a value is the same as, whatever their keys and units: an argument's."""
        if not self._hints.may_be(value):
            return []
        return [
            needle
            for kind, form in forms(value)
            for needle in self._forms.get(("date" if kind == "day" else kind, form), ())
        ]

    def in_text(self, text: str, *, strict: bool = True) -> list[Needle]:
        """Those that stand in a line of text as whole tokens.

        Only `strict` ones are evidence. The others may be a part of something longer.
        """
        pieces = set(pieces_of(text))
        results: list[Needle] = []
        for piece in self._hints.words & pieces:
            for wanted, needle in self._pieces[piece]:
                # A number is looked for as one, with its sign and its unit.
                if strict and (not needle.strong or needle.number is not None):
                    continue
                if _stands_in(text, wanted, strict=strict):
                    results.append(needle)
        if not self._hints.numbers.isdisjoint(pieces):
            results += self._numbers_in(text, strict=strict)
        if not self._hints.years.isdisjoint(pieces):
            for day in dates_in(text):
                kind = "moment" if hasattr(day, "hour") else "date"
                results += self._forms.get((kind, day), ())
        if not self._hints.groups.isdisjoint(pieces):
            for account in texts.accounts_in(text):
                results += self._forms.get(("text", account), ())
        return results

    def _numbers_in(self, text: str, *, strict: bool) -> Iterator[Needle]:
        if not strict:
            for value in values_in(text):
                yield from self._forms.get(("number", value), ())
            return
        for number in numbers_in(text):
            for needle in self._forms.get(("number", number.value), ()):
                if _number_agrees(needle, number.value, number.unit, keyed=False):
                    yield needle


def _stands_in(text: str, wanted: str, *, strict: bool) -> bool:
    """Return whether a text has another one somewhere, as a whole token where it is `strict`."""
    start = text.find(wanted)
    while start >= 0:
        named = texts.is_name(wanted) and texts.begins_sentence(text, start)
        if not strict or (texts.is_bounded(text, start, start + len(wanted)) and not named):
            return True
        start = text.find(wanted, start + 1)
    return False


def _number_agrees(needle: Needle, value: Decimal, unit: str, *, keyed: bool) -> bool:
    """Return whether a number with this unit is the one of the proposal."""
    if not agree(needle.unit, needle.own_unit, unit):
        return False
    if keyed or needle.strong:
        return True
    return bool(unit) and unit == needle.unit and abs(value) >= LARGE
