"""Chooses what to measure, by what to group and along which time, where the person did not say.

Only column facts (as `clean` answers them) and the question go in; each choice says how it came
about. No column name of any particular data set is known here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..input.kinds import words_of
from ..input.problems import NothingLeft, UnusableSetting, quoted
from ..input.settings import Settings

# Words that name what people usually want to explain, not what they explain it with.
OUTCOMES = frozenset({
    "amount", "consumption", "cost", "delay", "demand", "duration", "income", "margin", "price",
    "profit", "quantity", "qty", "rate", "rating", "revenue", "salary", "sale", "sales", "score",
    "spend", "total", "turnover", "value", "wage", "yield",
})  # fmt: skip
CALENDAR = frozenset({
    "year", "yr", "month", "mon", "week", "quarter", "day", "weekday", "dow", "hour", "minute",
    "second", "date", "time",
})  # fmt: skip
PLACES = frozenset({"lat", "latitude", "lon", "lng", "long", "longitude"})
GROUP_LEVELS = 40
FEWEST_LEVELS = 2

type Column = Mapping[str, Any]


def choose_measure(columns: Sequence[Column], settings: Settings) -> dict[str, str]:
    """{"name", "how"} of the number to explain; NothingLeft when the table has none."""
    numbers = [column for column in columns if column["kind"] == "number"]
    if settings.measure:
        if settings.measure not in [column["name"] for column in numbers]:
            raise UnusableSetting(
                f"`measure` names the column {quoted(settings.measure)}, which holds no "
                "numbers here. Name a column of numbers, or none."
            )
        return {"name": settings.measure, "how": "named in the settings"}
    free = [column for column in numbers if not frames(column["name"])] or numbers
    if not free:
        raise NothingLeft(
            "No column holds numbers, so there is nothing to measure. If one should, name it in "
            "`measure` to see what is wrong with it."
        )
    query = {column["name"]: asked_for(column["name"], settings.question) for column in free}
    best = max(enumerate(free), key=lambda pair: _worth(pair, query))[1]
    how = "named in the question" if query[best["name"]] else "chosen by what its column holds"
    return {"name": best["name"], "how": how}


def _worth(
    pair: tuple[int, Column], asked: Mapping[str, float]
) -> tuple[bool, float, bool, bool, int, int]:
    """An outcome that is asked for, then asked for, then an outcome by name, then finely graded.

    A question names what it is about, too: "why do flights arrive late" asks for `arr_delay`, not
    for the number in `flight`.
    """
    index, column = pair
    outcome = bool(OUTCOMES & set(words_of(column["name"])))
    heard = asked[column["name"]]
    whole = bool(column["whole"])
    return bool(heard and outcome), heard, outcome, not whole, column["distinct"], index


def choose_groups(
    columns: Sequence[Column], settings: Settings, measure: str
) -> tuple[list[str], bool]:
    """The columns that may group the rows, and whether the person named them (then all are meant).

    Otherwise the data decide between them; those the question names come alone.
    """
    if settings.groups:
        known = [column["name"] for column in columns]
        for name in settings.groups:
            if name not in known or name == measure:
                raise UnusableSetting(
                    f"`groups` names the column {quoted(name)}, which was left out or is the "
                    "measure. Name another column, or none."
                )
        return list(settings.groups[:2]), True
    fitting = [
        column["name"]
        for column in columns
        if column["kind"] == "category" and FEWEST_LEVELS <= column["distinct"] <= GROUP_LEVELS
    ]
    if not fitting:
        fitting = [
            column["name"]
            for column in columns
            if column["whole"]
            and FEWEST_LEVELS <= column["distinct"] <= GROUP_LEVELS
            and column["name"] != measure
        ]
    requests = [name for name in fitting if asked_for(name, settings.question)]
    return (requests or fitting)[:12], False


def choose_period(
    columns: Sequence[Column], constants: Mapping[str, str], settings: Settings
) -> dict[str, str] | None:
    """{"kind": "month|date|year", "column", "year"} of the time to follow, or None.

    `year` names the column beside a month column that holds the year ("" when there is none).
    """
    by_name = {column["name"]: column for column in columns}
    if settings.period:
        result = _as_period(by_name.get(settings.period), by_name, constants)
        if result is None:
            raise UnusableSetting(
                f"`period` names the column {quoted(settings.period)}, which holds no dates, "
                "months or years here. Name another column, or none."
            )
        return result
    periods = [_as_period(column, by_name, constants) for column in columns]
    for kind in ("month", "date", "year"):
        for period in periods:
            if period and period["kind"] == kind:
                return period
    return None


def _as_period(
    column: Column | None, by_name: Mapping[str, Column], constants: Mapping[str, str]
) -> dict[str, str] | None:
    if column is None:
        return None
    name, words = column["name"], set(words_of(column["name"]))
    if column["kind"] == "date":
        return {"kind": "date", "column": name, "year": ""}
    if not column["whole"]:
        return None
    if words & {"month", "mon"} and column["low"] >= 1 and column["high"] <= 12:
        years = [
            other
            for other in [*by_name, *constants]
            if set(words_of(other)) & {"year", "yr"}
            and (other in constants or _is_year(by_name[other]))
        ]
        return {"kind": "month", "column": name, "year": years[0] if years else ""}
    if words & {"year", "yr"} and _is_year(column):
        return {"kind": "year", "column": name, "year": ""}
    return None


def _is_year(column: Column) -> bool:
    return bool(column["whole"] and column["low"] >= 1000 and column["high"] < 3000)


def frames(name: str) -> bool:
    """Answer True if the name means a time or a location, not an amount."""
    words = set(words_of(name))
    return bool(words) and (words <= CALENDAR or bool(words & PLACES))


def asked_for(name: str, question: str) -> float:
    """The share of a column's name that the question holds, from 0 to 1.

    A beginning is enough: `arr` matches "arrival", and `carriers` matches "carrier".
    """
    words, request = words_of(name), words_of(question)
    hits = sum(any(_alike(word, heard) for heard in request) for word in words)
    return hits / len(words) if words else 0.0


def _alike(word: str, heard: str) -> bool:
    return word == heard or (
        (len(word) >= 3 and heard.startswith(word)) or (len(heard) >= 4 and word.startswith(heard))
    )
