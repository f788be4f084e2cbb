"""Days of the weather table, and the records that a day breaks."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

AIRPORTS: Final = ("EWR", "JFK", "LGA")
DAYS: Final = 364  # that the table has, of 2013
# {what: (column, whether the largest counts, unit)}
EXTREMES: Final[Mapping[str, tuple[str, bool, str]]] = {
    "hottest": ("temp", True, "°F"),
    "coldest": ("temp", False, "°F"),
    "windiest": ("wind_speed", True, "mph"),
    "wettest hour": ("precip", True, "inches"),
}


def extremes_of(path: Path, number: int) -> dict[str, Any]:
    """Read the day and airport of a number, counted from 0, and the extremes of its hours.

    Airports of one day follow each other. A column without a value that day is left out.
    """
    airport = AIRPORTS[number % len(AIRPORTS)]
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["origin"] == airport]
    dates = sorted({_date(row) for row in rows})
    date = dates[number // len(AIRPORTS)]
    hours = [row for row in rows if _date(row) == date]
    values: dict[str, float] = {}
    for what, (column, largest, _) in EXTREMES.items():
        known = [float(row[column]) for row in hours if row[column] not in ("", "NA")]
        if known:
            values[what] = round(max(known) if largest else min(known), 2)
    return {"date": date, "airport": airport, "hours": len(hours), "values": values}


def broken(records: Mapping[str, Mapping[str, Any]], day: Mapping[str, Any]) -> dict[str, Any]:
    """Find the records that a day breaks: {what: {value, date, airport}}."""
    result = {}
    for what, value in day["values"].items():
        former = records.get(what)
        largest = EXTREMES[what][1]
        if former is None or (value > former["value"] if largest else value < former["value"]):
            result[what] = {"value": value, "date": day["date"], "airport": day["airport"]}
    return result


def sentence(what: str, record: Mapping[str, Any]) -> str:
    """Write a record as a sentence."""
    unit = EXTREMES[what][2]
    return f"The {what} so far: {record['value']:g} {unit}, {record['airport']}, {record['date']}."


def _date(row: Mapping[str, str]) -> str:
    return f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
