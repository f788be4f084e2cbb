"""Choices of the overview: on its page and for its CSV, in the call and the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from checkpoints.limits import AGENT_MAX
from dashboard.fields import filters
from dashboard.fields.filters import CALL, COMMAND, Filter, Kind
from dashboard.fields.parameters import Values

from .figures import FIGURES
from .period import DAYS_MAX, WORDS, is_date, period_of
from .reads import Overview

DATE: Final = Values("a day such as 2026-11-26", is_date)
_DAY: Final = Kind(type=str, page=DATE, pattern=r"^\d{4}-\d\d-\d\d$")
CHOICES: Final = (
    Filter(
        name="period",
        kind=filters.one(WORDS),
        help="The last 24 hours, 7 days (as usual) or 30 days.",
    ),
    Filter(name="from", kind=_DAY, help="The first day (UTC), in place of a period."),
    Filter(name="to", kind=_DAY, help=f"The last day (UTC); a period has at most {DAYS_MAX} days."),
    Filter(name="agent", kind=filters.text(AGENT_MAX), help="Only this agent."),
    Filter(
        name="figure",
        kind=filters.one({name: name for name in FIGURES}),
        help="One figure; otherwise all.",
        endpoints=(CALL, COMMAND),
    ),
)


def overview_of(workspace: UUID, texts: Mapping[str, str]) -> Overview:
    """The overview that is chosen; raises Invalid for a period that cannot be."""
    first, last = texts.get("from", ""), texts.get("to", "")
    period = period_of(name=texts.get("period", ""), first=first, last=last)
    return Overview(workspace, period, texts.get("agent", "").strip())
