"""Lines of a list that was acted on before beside those of now, matched by what names them; pure.

What names a line is the rule of `state.list_keys`; the schema of the tool may declare it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from checkpoints.state.list_keys import Part, identity, list_key


@dataclass(frozen=True, slots=True)
class Line:
    """One line by its name: as it was done before, as it would be done now; None where absent."""

    name: str
    before: Mapping[str, Any] | None
    now: Mapping[str, Any] | None

    @property
    def again(self) -> bool:
        """Answer True if it would be done a second time."""
        return self.before is not None and self.now is not None


@dataclass(frozen=True, slots=True)
class Overlap:
    """The list `list` of the arguments, line by line, named by the field `field`."""

    list: str
    field: str
    lines: tuple[Line, ...]

    @property
    def again(self) -> int:
        """Count the lines that would be done a second time."""
        return sum(line.again for line in self.lines)

    @property
    def new(self) -> int:
        """Count the lines that were not done before."""
        return sum(line.before is None for line in self.lines)


def overlaps(before: Any, now: Any, schema: Any = None) -> list[Overlap]:
    """Compare the lists right inside two arguments, line by line; only those that overlap."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return []
    whole = Part.of(schema)
    compared = [
        _overlap(str(key), before.get(key), value, whole.under(str(key)).key)
        for key, value in now.items()
    ]
    return [one for one in compared if one is not None]


def only_new(before: Any, now: Any, schema: Any = None) -> dict[str, Any] | None:
    """The arguments of now without the lines that were done before; None where all or none are new.

    A number of lines and a sum over them beside the list are those of the lines that are left.
    """
    results = [one for one in overlaps(before, now, schema) if one.again]
    if len(results) != 1 or not results[0].new:
        return None
    one = results[0]
    old = now[one.list]
    new = [dict(line.now) for line in one.lines if line.before is None and line.now is not None]
    saved = {key: _fitted(value, old, new) for key, value in now.items()}
    return {**saved, one.list: new}


def _overlap(name: str, before: Any, now: Any, declared: str) -> Overlap | None:
    if not isinstance(before, list) or not isinstance(now, list):
        return None
    field = list_key(now, before, declared)
    if not field:
        return None
    then = {identity(line, field): line for line in before}
    here = {identity(line, field): line for line in now}
    lines = [Line(str(key[1]), then.get(key), line) for key, line in here.items()]
    lines += [Line(str(key[1]), line, None) for key, line in then.items() if key not in here]
    return Overlap(name, field, tuple(lines))


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
