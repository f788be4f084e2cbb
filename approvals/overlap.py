"""Lines of a list that was acted on before beside those of now, matched by what names them; pure.

A line is named by a field that every line of both lists has, as a text or a number, no value of it
twice in one list. Of several one counts that is called as identifiers are, else the one
under which most lines meet, then the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

_IDENTIFIER: Final = re.compile(r"(.*_)?(id|uuid|key|number|no|ref|reference|invoice|sku)", re.I)


@dataclass(frozen=True, slots=True)
class Line:
    """One line by its name: as it was done before, as it would be done now; None where absent."""

    name: str
    before: Mapping[str, Any] | None
    now: Mapping[str, Any] | None

    @property
    def again(self) -> bool:
        """Whether it would be done a second time."""
        return self.before is not None and self.now is not None


@dataclass(frozen=True, slots=True)
class Overlap:
    """The list `list` of the arguments, line by line, named by the field `field`."""

    list: str
    field: str
    lines: tuple[Line, ...]

    @property
    def again(self) -> int:
        """How many lines would be done a second time."""
        return sum(line.again for line in self.lines)

    @property
    def new(self) -> int:
        """How many lines were not done before."""
        return sum(line.before is None for line in self.lines)


def overlaps(before: Any, now: Any) -> list[Overlap]:
    """What the lists right inside two arguments have in common, line by line."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return []
    compared = [_overlap(str(key), before.get(key), value) for key, value in now.items()]
    return [one for one in compared if one is not None]


def only_new(before: Any, now: Any) -> dict[str, Any] | None:
    """The arguments of now without the lines that were done before; None where all or none are new.

    A number of lines and a sum over them beside the list are those of the lines that are left.
    """
    found = [one for one in overlaps(before, now) if one.again]
    if len(found) != 1 or not found[0].new:
        return None
    one = found[0]
    old = now[one.list]
    new = [dict(line.now) for line in one.lines if line.before is None and line.now is not None]
    kept = {key: _fitted(value, old, new) for key, value in now.items()}
    return {**kept, one.list: new}


def _overlap(name: str, before: Any, now: Any) -> Overlap | None:
    if not _is_table(before) or not _is_table(now):
        return None
    field = _field(before, now)
    if field is None:
        return None
    then = {str(line[field]): line for line in before}
    here = {str(line[field]): line for line in now}
    lines = [Line(key, then.get(key), line) for key, line in here.items()]
    lines += [Line(key, line, None) for key, line in then.items() if key not in here]
    return Overlap(name, field, tuple(lines))


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, Mapping) for x in value)


def _field(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> str | None:
    best, met = None, 0
    for field in now[0]:
        names = [_names(lines, field) for lines in (before, now)]
        if all(names) and _IDENTIFIER.fullmatch(field):
            return field
        if all(names) and len(names[0] & names[1]) > met:
            best, met = field, len(names[0] & names[1])
    return best


def _names(lines: Sequence[Mapping[str, Any]], field: str) -> set[str]:
    values = [line.get(field) for line in lines]
    plain = [v for v in values if isinstance(v, str | int) and not isinstance(v, bool) and v != ""]
    names = {str(value) for value in plain}
    return names if len(names) == len(lines) else set()


def _fitted(value: Any, old: list[Mapping[str, Any]], new: list[dict[str, Any]]) -> Any:
    """A value that counts or sums the old lines, of the new ones; any other as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return len(new) if value == len(old) else value
    if not isinstance(value, str) or (number := _decimal(value)) is None:
        return value
    for field in old[0]:
        if (total := _sum(old, field)) is not None and total == number:
            left = _sum(new, field)
            return value if left is None else f"{left:.{_decimals(value)}f}"
    return value


def _sum(lines: Sequence[Mapping[str, Any]], field: str) -> Decimal | None:
    texts = [line.get(field) for line in lines]
    numbers = [_decimal(text) if isinstance(text, str) else None for text in texts]
    return None if None in numbers else sum((n for n in numbers if n is not None), Decimal(0))


def _decimal(text: str) -> Decimal | None:
    if not text.isascii() or len(text) > 40:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])
