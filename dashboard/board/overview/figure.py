"""A figure of the overview: its table, which page, API, CSV and command show, and its drawing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dashboard.documents.cells import as_cell
from dashboard.html.charts.over_time import TimePlot
from dashboard.html.charts.ranks import RankPlot
from dashboard.wording.text import number, span

type Value = str | int | float | Decimal | datetime | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `kind` is time, text, number, money or seconds."""

    key: str
    title: str
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as a page shows it."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A table with a title and the rule by which it counts, and how it is drawn.

    `links` has, for each row, the address of the list of threads behind it, or "".
    """

    name: str
    title: str
    rule: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    plot: TimePlot | None = None
    ranks: RankPlot | None = None
    hours: bool = False
    links: tuple[str, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """True where there is something to draw."""
        return self.plot is not None or self.ranks is not None

    @property
    def cells(self) -> list[list[Cell]]:
        """The table as a page shows it."""
        return [
            [
                Cell(shown(value, column.kind, hours=self.hours), column.kind)
                for value, column in zip(row, self.columns, strict=True)
            ]
            for row in self.rows
        ]

    def records(self) -> list[dict[str, Any]]:
        """The table as JSON has it: times as ISO, money as decimal strings."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, map(plain, row), strict=True)) for row in self.rows]

    def csv(self) -> str:
        """The table as CSV; a text that a spreadsheet would take for a formula gets a quote."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(column.key for column in self.columns)
        writer.writerows(map(_cells, self.rows))
        return out.getvalue()


def plain(value: Value) -> Any:
    """A value as JSON and CSV have it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return decimal_text(value)
    return round(value, 3) if isinstance(value, float) else value


def decimal_text(value: Decimal) -> str:
    """An amount without trailing zeros, and without an exponent."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money(value: Decimal | float) -> str:
    """An amount for people: $12.40, $0.0031; two digits that say something where it is small."""
    amount = Decimal(value) if isinstance(value, Decimal) else Decimal(str(value))
    if amount == 0:
        return "$0"
    digits = 2 if abs(amount) >= 1 else min(6, 1 - amount.adjusted())
    return f"${amount:,.{digits}f}"


def shown(value: Value, kind: str, *, hours: bool = False) -> str:
    """A value for people; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):{'%d %b %H:%M' if hours else '%d %b %Y'}}"
    if kind == "money" and value == 0:
        return "–"
    if kind == "money":
        return money(value) if isinstance(value, Decimal | float | int) else str(value)
    if kind == "seconds":
        return span(float(value))
    return number(value)


def _cells(row: Sequence[Value]) -> Iterator[Any]:
    for value in map(plain, row):
        yield as_cell(value) if isinstance(value, str) else value
