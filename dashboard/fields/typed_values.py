"""Numbers and times as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_THOUSANDS: Final = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")


def without_thousands(text: str) -> str:
    """`1,234.50` without its comma; any other text as it is, so that `1,5` never becomes 15."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def time_in_utc(text: str) -> datetime:
    """A time in ISO 8601, in UTC; one without a zone is UTC already.

    Raises ValueError, also where its year in UTC would be 0 or 10,000.
    """
    at = datetime.fromisoformat(text)
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error
