"""Bars and lines over time in a box of STEP units for each hour or day, and HEIGHT units high.

The box is stretched to the page, so texts stand beside it and not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

STEP: Final = 10
HEIGHT: Final = 100
GAP: Final = 1.5  # beside each bar


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers of one kind, one for each hour or day; None where nothing is known."""

    name: str
    tone: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a bar; `y` counts from above."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """All that belongs to one hour or day: its place, its bars, and the same in words.

    `href` leads to what it counts; empty where nothing happened.
    """

    x: float
    bars: tuple[Bar, ...]
    title: str
    empty: bool
    href: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through the middles of the columns; `d` is the path, with gaps where nothing is.

    `dots` is the path of single values between gaps, which no line makes visible.
    """

    tone: str
    d: str
    dots: str = ""


@dataclass(frozen=True, slots=True)
class TimePlot:
    """A drawing of `width` by HEIGHT; `top` is the value at its upper edge, in words.

    `middle` is that of half the height, empty where half of it is no such value.
    """

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    legend: tuple[tuple[str, str, str], ...]
    top: str
    middle: str
    zero: str
    first: str
    last: str
    width: int
    bar_x: float = GAP
    bar_width: float = STEP - 2 * GAP
    height: int = HEIGHT
    step: int = STEP


def over_time(
    labels: Sequence[str],
    *,
    bars: Sequence[Series] = (),
    lines: Sequence[Series] = (),
    words: Callable[[float], str],
) -> TimePlot | None:
    """Bars on top of each other and lines, on one scale; None where every value is 0 or missing."""
    sums = [sum(s.values[i] or 0 for s in bars) for i in range(len(labels))]
    points = [value for s in lines for value in s.values if value is not None]
    top = max([*sums, *points], default=0)
    if not top:
        return None
    columns = tuple(
        Column(
            i * STEP,
            _stacked(bars, i, top),
            _title(label, (*bars, *lines), i, words),
            not any(s.values[i] for s in (*bars, *lines)),
        )
        for i, label in enumerate(labels)
    )
    return TimePlot(
        columns,
        tuple(Line(s.tone, _path(s.values, top), _dots(s.values, top)) for s in lines),
        (*((s.name, s.tone, "bar") for s in bars), *((s.name, s.tone, "line") for s in lines)),
        words(top),
        words(top / 2) if isinstance(top, float) or top % 2 == 0 else "",
        words(0),
        labels[0],
        labels[-1],
        len(labels) * STEP,
    )


def _stacked(bars: Sequence[Series], i: int, top: float) -> tuple[Bar, ...]:
    results, foot = [], float(HEIGHT)
    for series in bars:
        if value := series.values[i]:
            height = value / top * HEIGHT
            foot -= height
            results.append(Bar(series.tone, round(foot, 2), round(height, 2)))
    return tuple(results)


def _path(values: Sequence[float | None], top: float) -> str:
    parts, pen = [], "M"
    for i, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        # A dot where a single value stands between gaps.
        parts.append(f"{pen}{_at(i, value, top)}" + ("h.01" if pen == "M" else ""))
        pen = "L"
    return "".join(parts)


def _dots(values: Sequence[float | None], top: float) -> str:
    padded = [None, *values, None]
    return "".join(
        f"M{_at(i, value, top)}h.01"
        for i, value in enumerate(values)
        if value is not None and padded[i] is None and padded[i + 2] is None
    )


def _at(i: int, value: float, top: float) -> str:
    return f"{i * STEP + STEP / 2:g} {round(HEIGHT - value / top * HEIGHT, 2):g}"


def _title(label: str, series: Sequence[Series], i: int, words: Callable[[float], str]) -> str:
    parts = [f"{s.name} {words(value)}" for s in series if (value := s.values[i])]
    return f"{label}: {', '.join(parts) or 'nothing'}"
