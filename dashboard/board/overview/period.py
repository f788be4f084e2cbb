"""The time that an overview shows: the last 24 hours, 7 or 30 days, or some days (UTC)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from checkpoints import queries
from checkpoints.queries.overview.figures import DAY, HOUR, midnight
from dashboard.errors import Invalid

LENGTHS: Final = {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
WORDS: Final = {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}
USUAL: Final = "7d"
DAYS_MAX: Final = 92
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True)
class Period:
    """From `low` until before `high`, both on a whole `unit`; `name` is empty for chosen days."""

    low: datetime
    high: datetime
    unit: str
    name: str = ""

    @property
    def times(self) -> list[datetime]:
        """The beginning of each hour or day."""
        step = timedelta(hours=1) if self.unit == HOUR else timedelta(days=1)
        return [self.low + i * step for i in range(round((self.high - self.low) / step))]

    @property
    def labels(self) -> list[str]:
        """The same in words."""
        form = "%H:%M" if self.unit == HOUR else "%d %b"
        return [f"{at:{form}}" for at in self.times]

    @property
    def first(self) -> date:
        """The first day."""
        return self.low.date()

    @property
    def last(self) -> date:
        """The last day."""
        return (self.high - timedelta(microseconds=1)).date()

    @property
    def words(self) -> str:
        """The period as it stands in a title."""
        if self.name:
            return f"last {WORDS[self.name]}"
        if self.first == self.last:
            return f"{self.first:%d %B %Y}"
        return f"{self.first:%d %B %Y} to {self.last:%d %B %Y}"


def is_date(text: str) -> bool:
    """Answer True for a day such as 2026-11-26."""
    try:
        return bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def period_of(*, name: str = "", first: str = "", last: str = "") -> Period:
    """The period that an address, a call or a command names; raises Invalid."""
    now = datetime.fromtimestamp(queries.clock(), UTC)
    if first or last:
        for path, text in (("from", first), ("to", last)):
            if text and not is_date(text):
                raise Invalid(path, "must be a day such as 2026-11-26")
        if name:
            raise Invalid("period", "is not taken beside from and to")
        return _days(now.date(), first, last)
    name = name or USUAL
    if name not in LENGTHS:
        raise Invalid("period", f"must be one of {', '.join(LENGTHS)}")
    if name == "24h":
        high = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        return Period(high - LENGTHS[name], high, HOUR, name)
    high = midnight(now.date() + timedelta(days=1))
    return Period(high - LENGTHS[name], high, DAY, name)


def _days(today: date, first: str, last: str) -> Period:
    end = date.fromisoformat(last) if last else today
    begin = date.fromisoformat(first) if first else end - timedelta(days=6)
    if begin > end:
        raise Invalid("from", "is after the last day")
    if end.year > today.year + 1 or begin.year < 2000:
        raise Invalid("from", "is too far away")
    if (end - begin).days >= DAYS_MAX:
        raise Invalid("from", f"is too early: a period has at most {DAYS_MAX} days")
    unit = HOUR if begin == end else DAY
    return Period(midnight(begin), midnight(end + timedelta(days=1)), unit)
