"""The columns of the built-in data sets, as conditions of the start form's JSON Schema.

A column that the chosen data set does not have is refused before a thread exists. An uploaded table
is known only once it has been read, so nothing is said of it here.
"""

from __future__ import annotations

import re
from typing import Any

_WHEN = ("year", "month", "day", "hour", "time_hour")
COLUMNS: dict[str, tuple[str, ...]] = {
    "flights": (
        *_WHEN, "minute", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time",
        "arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance",
    ),
    "weather": (
        *_WHEN, "origin", "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip",
        "pressure", "visib",
    ),
}  # fmt: skip


def built_in_columns() -> list[Any]:
    """For each built-in data set: `measure`, `groups` and `ignore` name columns that it has."""
    return [_condition(dataset, columns) for dataset, columns in COLUMNS.items()]


def _condition(dataset: str, columns: tuple[str, ...]) -> dict[str, Any]:
    column = {"pattern": _any_case(columns), "x-message": f"{_MUST} {dataset}: {_listed(columns)}"}
    lists = {"items": column}
    return {
        "if": {"properties": {"dataset": {"const": dataset}, "file": {"type": "null"}}},
        "then": {
            "properties": {
                "measure": {**column, "pattern": f"^$|{column['pattern']}"},
                "groups": lists,
                "ignore": lists,
            }
        },
    }


_MUST = "must be a column of"


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(sorted(columns))


def _any_case(columns: tuple[str, ...]) -> str:
    """An expression for these names; upper and lower case do not matter to the agent either."""
    names = ("".join(map(_letter, name)) for name in columns)
    return f"^({'|'.join(names)})$"


def _letter(character: str) -> str:
    if character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return re.escape(character)
