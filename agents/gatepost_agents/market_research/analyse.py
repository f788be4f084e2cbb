"""Third step: works out every figure of the report from the cleaned table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .figures.choose import choose_groups, choose_measure, choose_period, frames
from .figures.findings import findings
from .figures.measures import (
    Numbers,
    by_code,
    correlation,
    describe,
    explained,
    in_places,
    scale_of,
)
from .figures.names import NO_VALUE, Wording
from .figures.trend import trend
from .input.problems import NothingLeft, quoted
from .input.settings import Settings
from .input.tables import Coded, read_columns

# A mean of fewer rows says little: such groups are shown, but nothing is concluded from them.
FEW_ROWS = 30
SHOWN_GROUPS = 40
OTHER_NUMBERS = 30


def analyse(
    table_path: Path,
    *,
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
    profile: Mapping[str, Any],
) -> dict[str, Any]:
    """Analyse the table that `clean` wrote; `summary` is what it answered, `profile` what `load`.

    Answers (every number rounded as rounding.py says, None where there is none)
    {"measure": {"name", "label", "unit", "how"}, "places", "rows", "rows_lacking", "few_rows",
     "overall": {"mean", "median", "p90", "deviation", "low", "high"},
     "groups": [{"column", "label", "how", "explained", "levels", "rows_shown", "rows":
                 [{"key", "label", "rows", "few", "mean", ... as overall}]}] (highest mean first),
     "trend": {"column", "by": "day|month|year", "rows": [{"period", "rows", "mean"}]} | None,
     "correlation": {"column", "label", "r", "rows"} | None,
     "missing": [{"column", "missing", "percent"}] (raw table, most first),
     "findings": [{"text", "figures": {name: value}}]}.
    Raises UnknownColumn, UnusableSetting, NothingLeft.
    """
    columns, constants = summary["columns"], summary["constants"]
    names = [column["name"] for column in columns]
    request = Settings.read(settings).fitted([*names, *_left_out(profile, names)])
    measure = choose_measure(columns, request)
    candidates, named = choose_groups(columns, request, measure["name"])
    period = choose_period(columns, constants, request)
    others = [
        column["name"]
        for column in columns
        if column["kind"] == "number"
        and column["name"] != measure["name"]
        and not frames(column["name"])
    ][:OTHER_NUMBERS]
    timed = [period["column"], period["year"]] if period else []
    table = read_columns(table_path, [measure["name"], *candidates, *others, *timed])

    all_numbers = numbers_of(table[measure["name"]])
    have = np.isfinite(all_numbers)
    if not have.any():
        raise NothingLeft(
            f"No row holds a number in {quoted(measure['name'])}. Name another measure."
        )
    values = all_numbers[have]
    about = describe(np.sort(values))
    places = scale_of(about)
    wording = Wording(profile, columns, request)
    analysis: dict[str, Any] = {
        "measure": {
            **measure,
            "label": wording.column(measure["name"]),
            "unit": wording.unit(measure["name"]),
        },
        "places": places,
        "rows": len(values),
        "rows_lacking": int((~have).sum()),
        "few_rows": FEW_ROWS,
        "overall": in_places(about, places),
        "groups": _groups(table, have, values, candidates, named, places, wording),
        "trend": trend(table, have, values, period, constants, places),
        "correlation": _correlation(table, all_numbers, others, wording),
        "missing": _missing(columns),
    }
    analysis["findings"] = findings(analysis)
    return analysis


def numbers_of(column: Coded) -> Numbers:
    """A column of a cleaned table as numbers; gaps are NaN."""
    parsed = np.array([float(text) if text else np.nan for text in column.values])
    return parsed[column.codes]


def _left_out(profile: Mapping[str, Any], names: list[str]) -> list[str]:
    """Columns that the file has and cleaning took away: settings may still name them."""
    return [column["name"] for column in profile["columns"] if column["name"] not in names]


def _groups(
    table: dict[str, Coded],
    have: npt.NDArray[np.bool_],
    values: Numbers,
    candidates: list[str],
    named: bool,
    places: int,
    wording: Wording,
) -> list[dict[str, Any]]:
    """One table per grouping column; of unnamed ones the two that explain most."""
    shares = {
        name: explained(values, table[name].codes[have], len(table[name].values))
        for name in candidates
    }
    if not named:
        candidates = sorted(candidates, key=lambda name: -(shares[name] or 0.0))[:2]
    how = [f"chosen because it explains {rank}" for rank in ("most", "next most")]
    if named:
        how = ["named in the settings"] * len(candidates)
    return [
        {
            "column": name,
            "label": wording.column(name),
            "how": how[place],
            "explained": shares[name],
            **_table_of(name, table[name], have, values, places, wording),
        }
        for place, name in enumerate(candidates)
    ]


def _table_of(
    name: str,
    column: Coded,
    have: npt.NDArray[np.bool_],
    values: Numbers,
    places: int,
    wording: Wording,
) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for key, numbers in zip(
        column.values, by_code(values, column.codes[have], len(column.values)), strict=True
    ):
        if len(numbers):
            rows.append(
                {
                    "key": key or NO_VALUE,
                    "label": wording.value(name, key) if key else NO_VALUE,
                    "rows": len(numbers),
                    "few": len(numbers) < FEW_ROWS,
                    **in_places(describe(numbers), places),
                }
            )
    largest = sorted(rows, key=lambda row: (-row["rows"], row["key"]))[:SHOWN_GROUPS]
    shown = sorted(largest, key=lambda row: (-row["mean"], row["key"]))
    return {"levels": len(rows), "rows_shown": sum(row["rows"] for row in shown), "rows": shown}


def _correlation(
    table: dict[str, Coded], measure: Numbers, others: list[str], wording: Wording
) -> dict[str, Any] | None:
    """The number that goes most closely with the measure, whichever way."""
    results: list[dict[str, Any]] = []
    for name in others:
        r, rows = correlation(measure, numbers_of(table[name]))
        if r is not None:
            results.append({"column": name, "label": wording.column(name), "r": r, "rows": rows})
    return max(results, key=lambda pair: abs(pair["r"]), default=None)


def _missing(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Columns with gaps in the raw table, most gaps first."""
    gaps = [
        {"column": c["name"], "missing": c["missing"], "percent": c["missing_percent"]}
        for c in columns
        if c["missing"]
    ]
    return sorted(gaps, key=lambda gap: (-gap["missing"], gap["column"]))
