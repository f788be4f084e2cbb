"""Bars side by side, the longest first, each in parts that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 100
SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a bar, in units of WIDTH."""

    tone: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Rank:
    """One bar: its name, its parts, the sum and the parts in words.

    `index` is where the items have it, `href` leads to what it counts.
    """

    name: str
    parts: tuple[Part, ...]
    value: str
    title: str
    index: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class RankPlot:
    """The longest bars; `more` are left to the table."""

    rows: tuple[Rank, ...]
    legend: tuple[tuple[str, str, str], ...]
    more: int
    width: int = WIDTH


def ranks(
    items: Sequence[tuple[str, Sequence[float]]],
    *,
    kinds: Sequence[tuple[str, str]],
    words: Callable[[float], str],
) -> RankPlot | None:
    """Bars of (name, a value for each of `kinds`: name and tone); None where all are 0."""
    some = [(name, values, i) for i, (name, values) in enumerate(items) if sum(values)]
    if not some:
        return None
    ordered = sorted(some, key=lambda one: -sum(one[1]))
    longest = sum(ordered[0][1])
    rows = []
    for name, values, index in ordered[:SHOWN]:
        parts, x = [], 0.0
        for value, (_, tone) in zip(values, kinds, strict=True):
            width = value / longest * WIDTH
            parts.append(Part(tone, round(x, 2), round(width, 2)))
            x += width
        pairs = zip(values, kinds, strict=True)
        title = ", ".join(f"{kind} {words(value)}" for value, (kind, _) in pairs if value)
        rows.append(Rank(name, tuple(parts), words(sum(values)), f"{name}: {title}", index))
    legend = tuple((kind, tone, "bar") for kind, tone in kinds) if len(kinds) > 1 else ()
    return RankPlot(tuple(rows), legend, len(ordered) - len(rows))
