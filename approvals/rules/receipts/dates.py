"""Dates and moments as they are written, where they have one reading only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Final

_MONTH_WORDS: Final = (
    "january february march april may june july august september october november december"
)
_MONTHS: Final = _MONTH_WORDS.split()
_NAMES: Final = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_ISO: Final = r"\d{4}-\d{2}-\d{2}"
_MOMENT: Final = (
    rf"{_ISO}[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,6}})?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?"
)
_IN_TEXT: Final = re.compile(
    rf"(?<![\w./-])(?:(?P<moment>{_MOMENT})|(?P<iso>{_ISO})"
    r"|(?P<dotted>\d{1,2}\.\d{1,2}\.\d{4})"
    rf"|(?P<first>\d{{1,2}})\.? (?P<named>{_NAMES})\.? (?P<year>\d{{4}})"
    rf"|(?P<name>{_NAMES})\.? (?P<day>\d{{1,2}}),? (?P<in_year>\d{{4}}))(?![\w/-]|\.\d)",
    re.IGNORECASE,
)


def dates_in(text: str) -> Iterator[date | datetime]:
    """The dates and moments of a text; a moment with a time zone is in UTC."""
    for match in _IN_TEXT.finditer(text):
        if (day := _date(match)) is not None:
            yield day


def whole_date(text: str) -> date | datetime | None:
    """The date or moment that a whole text is; None for any other text."""
    match = _IN_TEXT.fullmatch(text)
    return None if match is None else _date(match)


def day_of(text: str) -> date | None:
    """The calendar day that a moment is written with."""
    return date.fromisoformat(text[:10]) if re.match(_ISO, text) else None


def _date(match: re.Match[str]) -> date | datetime | None:
    try:
        if match["moment"]:
            moment = datetime.fromisoformat(match["moment"])
            return moment if moment.tzinfo is None else moment.astimezone(UTC)
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        if match["dotted"]:
            return date(*map(int, reversed(match["dotted"].split("."))))
        name = (match["named"] or match["name"]).casefold()
        month = 1 + next(n for n, known in enumerate(_MONTHS) if known.startswith(name))
        return date(
            int(match["year"] or match["in_year"]), month, int(match["first"] or match["day"])
        )
    except (ValueError, OverflowError):  # the year 0, a moment before the first in UTC
        return None
