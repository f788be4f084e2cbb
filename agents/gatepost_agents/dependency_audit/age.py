"""How old a version is, from the dates that its own metadata holds; nothing is asked outside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

# When each version of Python came out, for packages that name none of the later ones.
PYTHONS = {
    "3.5": date(2015, 9, 13),
    "3.6": date(2016, 12, 23),
    "3.7": date(2018, 6, 27),
    "3.8": date(2019, 10, 14),
    "3.9": date(2020, 10, 5),
    "3.10": date(2021, 10, 4),
    "3.11": date(2022, 10, 24),
    "3.12": date(2023, 10, 2),
    "3.13": date(2024, 10, 7),
    "3.14": date(2025, 10, 7),
    "3.15": date(2026, 10, 1),
}
# Two figures of a year may be any version, so only late ones count.
_CALENDAR = re.compile(r"(?:20)?(2\d)\.(0?[1-9]|1[0-2])(?:\.|$)")
_STAMP = re.compile(r"\b(20[0-3]\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\b")
_DAY = re.compile(r"\b(20[0-3]\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")
# A single year is mostly that of the beginning; the end of a span is a sign of life.
_COPYRIGHT = re.compile(r"copyright[^\n]{0,80}?\b\d{4}\s*[-–]\s*(20[0-3]\d)\b", re.I)


def age_of(version: str, *, text: str, pythons: Sequence[str], today: date) -> dict[str, Any]:
    """{"years", "since", "because"}: by the newest sign of life; all empty where there is none.

    A version is at least as young as its newest sign, so what is called old here may be older.
    """
    signs: list[tuple[date, str]] = []
    calendar, stamp = _CALENDAR.match(version), _STAMP.search(version)
    if calendar:
        when = date(2000 + int(calendar[1]), int(calendar[2]), 1)
        signs.append((when, f"its version is {version}"))
    if stamp and (when_made := _day((stamp[1], stamp[2], stamp[3]))):
        signs.append((when_made, f"its version is {version}"))
    days = [day for parts in _DAY.findall(text) if (day := _day(parts)) and day <= today]
    if days:
        signs.append((max(days), "the newest date in its description"))
    years = [int(year) for year in _COPYRIGHT.findall(text)]
    if years and max(years) <= today.year:
        signs.append((date(max(years), 1, 1), "the newest year of its copyright"))
    known = [name for name in pythons if name in PYTHONS]
    if known:
        newest = max(known, key=lambda name: PYTHONS[name])
        signs.append((PYTHONS[newest], f"Python {newest} is the newest that it names"))
    signs = [sign for sign in signs if sign[0] <= today]
    if not signs:
        return {"years": None, "since": "", "because": ""}
    since, because = max(signs)
    years_old = round((today - since).days / 365.25, 1)
    return {"years": years_old, "since": since.isoformat(), "because": because}


def describe_age(age: Mapping[str, Any]) -> str:
    """Such as "4.2 years, by the newest date in its description (2022-09-01)"."""
    if age["years"] is None:
        return "unknown"
    return f"{age['years']:.1f} years, by its newest sign: {age['because']} ({age['since']})"


def _day(parts: tuple[str, str, str]) -> date | None:
    try:
        return date(*map(int, parts))
    except ValueError:
        return None
