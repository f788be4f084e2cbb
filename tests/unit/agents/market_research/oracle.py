"""Works out every figure of a market report again, from the raw file and the standard library only.

Nothing of the agent is imported here. `reckon` answers the same {name: value} as the report does,
and what the chart should show.
"""

import csv
import io
import math
import statistics
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

GAPS = {"", "na", "n/a", "#n/a", "nan", "null"}
FEW = 30


@dataclass(frozen=True)
class Table:
    """How one raw file is to be read; `groups` in the order of the report."""

    path: Path
    measure: str
    groups: tuple[str, ...]
    numbers: tuple[str, ...]
    period: Callable[[dict[str, str]], str]
    delimiter: str = ","
    decimal: str = "."


def rows_of(table: Table) -> Iterator[dict[str, str]]:
    """The raw rows, as text."""
    raw = table.path.read_bytes()
    if zipfile.is_zipfile(table.path):
        with zipfile.ZipFile(table.path) as packed:
            raw = packed.read(packed.namelist()[0])
    text = io.StringIO(raw.decode("utf-8-sig"), newline="")
    yield from csv.DictReader(text, delimiter=table.delimiter)


def number(text: str, table: Table) -> float | None:
    """A cell as a number; None for a gap and for other text."""
    return _number(text, table.decimal)


@cache  # of millions of cells a few thousand differ
def _number(text: str, decimal: str) -> float | None:
    if text.strip().lower() in GAPS:
        return None
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def near(value: float) -> float:
    """Two decimals, ties to even, no negative zero."""
    return round(value, 2) + 0.0


def about(values: list[float]) -> dict[str, float]:
    """The figures of one group."""
    mean, count = statistics.fmean(values), len(values)
    half = 1.96 * statistics.stdev(values) / math.sqrt(count)
    return {
        "rows": count,
        "mean": near(mean),
        "median": near(statistics.median(values)),
        "p90": near(statistics.quantiles(values, n=10, method="inclusive")[8]),
        "low": near(mean - half),
        "high": near(mean + half),
    }


def reckon(table: Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report's figures and the chart's data."""
    raw = list(rows_of(table))
    figures: dict[str, Any] = {"rows_in": len(raw)}
    _missing(table, raw, figures)
    seen: set[tuple[str, ...]] = set()
    once = [
        row for row in raw if not (tuple(row.values()) in seen or seen.add(tuple(row.values())))
    ]
    _count(figures, "dropped.exact duplicate rows", len(raw) - len(once))
    rows = [row for row in once if number(row[table.measure], table) is not None]
    _count(figures, f"dropped.rows without {table.measure}", len(once) - len(rows))
    values = [number(row[table.measure], table) or 0.0 for row in rows]
    _overall(values, figures)
    charts = [_group(table, name, rows, values, figures) for name in table.groups]
    trend = _trend(table, rows, values, figures)
    _correlation(table, rows, values, figures)
    figures |= {
        "method.standard_errors": 1.96,
        "method.confidence_percent": 95,
        "method.few_rows": FEW,
        "method.places": 2,
    }
    return figures, {"bars": charts[0], "overall": figures["overall.mean"], "trend": trend}


def _count(figures: dict[str, Any], name: str, count: int) -> None:
    if count:
        figures[name] = count


def _missing(table: Table, raw: list[dict[str, str]], figures: dict[str, Any]) -> None:
    for column in raw[0]:
        cells = Counter(row[column] for row in raw)
        if len(cells) == 1:
            continue
        gaps = sum(n for cell, n in cells.items() if cell.strip().lower() in GAPS)
        if column in (*table.numbers, table.measure):
            filled = sum(n for cell, n in cells.items() if number(cell, table) is not None)
            _count(figures, f"dropped.values in {column}", len(raw) - gaps - filled)
            gaps = len(raw) - filled
        if gaps:
            figures[f"missing.{column}.rows"] = gaps
            figures[f"missing.{column}.percent"] = near(100 * gaps / len(raw))


def _overall(values: list[float], figures: dict[str, Any]) -> None:
    overall = about(values)
    figures["rows"] = overall["rows"]
    for name in ("mean", "median", "p90"):
        figures[f"overall.{name}"] = overall[name]
    gap = near(overall["mean"] - overall["median"])
    if abs(gap) > near(statistics.stdev(values)) / 5:
        figures["overall.mean_minus_median"] = abs(gap)


def _group(
    table: Table,
    column: str,
    rows: list[dict[str, str]],
    values: list[float],
    figures: dict[str, Any],
) -> list[dict[str, Any]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row, value in zip(rows, values, strict=True):
        key = row[column].strip()
        groups["(no value)" if key.lower() in GAPS else key].append(value)
    payload = {key: about(members) for key, members in groups.items()}
    for key, figure in payload.items():
        figures |= {f"group.{column}.{key}.{name}": value for name, value in figure.items()}
    solid = [
        figure["mean"]
        for key, figure in payload.items()
        if figure["rows"] >= FEW and key != "(no value)"
    ]
    figures[f"group.{column}.gap"] = near(max(solid) - min(solid))
    mean = statistics.fmean(values)
    between = sum(len(g) * (statistics.fmean(g) - mean) ** 2 for g in groups.values())
    whole = math.fsum((value - mean) ** 2 for value in values)
    figures[f"group.{column}.explained"] = near(100 * between / whole)
    return [
        {"key": key, **{name: figure[name] for name in ("mean", "low", "high", "rows")}}
        for key, figure in sorted(payload.items(), key=lambda pair: (-pair[1]["mean"], pair[0]))
    ]


def _trend(
    table: Table, rows: list[dict[str, str]], values: list[float], figures: dict[str, Any]
) -> list[dict[str, Any]]:
    months: dict[str, list[float]] = defaultdict(list)
    for row, value in zip(rows, values, strict=True):
        months[table.period(row)].append(value)
    results = []
    for month, members in sorted(months.items()):
        mean = near(statistics.fmean(members))
        figures[f"trend.{month}.rows"] = len(members)
        figures[f"trend.{month}.mean"] = mean
        results.append({"period": month, "rows": len(members), "mean": mean})
    return results


def _correlation(
    table: Table, rows: list[dict[str, str]], values: list[float], figures: dict[str, Any]
) -> None:
    best = 0.0
    for column in table.numbers:
        pairs = [
            (value, other)
            for row, value in zip(rows, values, strict=True)
            if (other := number(row[column], table)) is not None
        ]
        r = near(statistics.correlation(*zip(*pairs, strict=True)))
        if abs(r) > abs(best):
            best = r
            figures["correlation.r"], figures["correlation.rows"] = r, len(pairs)
