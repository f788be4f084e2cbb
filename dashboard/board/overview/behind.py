"""Where the figures of the overview lead: lists of the board with the threads behind a number."""

from __future__ import annotations

import re
from datetime import datetime
from math import ceil, floor
from urllib.parse import urlencode

from django.urls import reverse

_PLAIN = re.compile(r"[\w.-]+")


def threads_at_work(low: datetime, high: datetime, *terms: str, now: float) -> str:
    """The list of threads that began before `high` and did something after `low`.

    What ended, was spent or decided within a time is of one of them. `terms` of the board's query
    narrow it; empty ones and doubles are left out. The board counts ages back from when it is
    opened; `now` is the database's clock, in seconds since 1970.
    """
    words = list(dict.fromkeys(filter(None, terms)))
    if (until := floor(now - high.timestamp())) > 0:
        words.append(f"age:>{until}s")
    words.append(f"idle:<{max(1, ceil(now - low.timestamp()))}s")
    return f"{reverse('board')}?{urlencode({'q': ' '.join(words), 'children': '1'})}"


def term(name: str, value: str) -> str:
    """A term of the board's query, quoted where it must be; empty for no value."""
    if not value:
        return ""
    if _PLAIN.fullmatch(value):
        return f"{name}:{value}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}:"{escaped}"'
