"""Tags for the inbox's rows, beside the filters of all pages."""

from __future__ import annotations

import re
from typing import Any

from django import template

from dashboard.approvals import distinct
from dashboard.wording import amounts

register = template.Library()
_NUMBERS = re.compile(r"[0-9]+([.,:-][0-9]+)*")
register.filter("amount", amounts.amount_of)
register.filter("distinctions", distinct.distinctions)


@register.filter
def sum_of(rows: Any) -> amounts.Sum | None:
    """The sum and range of what these requests are about; None where one names no amount."""
    return amounts.sum_of(row.args for row in rows)


@register.filter
def common_title(rows: Any) -> str:
    """The common title of equal requests; an ellipsis where their numbers differ."""
    titles = {row.title for row in rows}
    return next(iter(titles)) if len(titles) == 1 else _NUMBERS.sub("…", rows[0].title)


@register.filter
def any_ticks(rows: Any) -> bool:
    """True if some of these requests can be decided together with others."""
    return any(not row.opens for row in rows)


@register.filter
def seat(name: str) -> str:
    """A seat of a request's terms in words: a person, a team, any reviewer."""
    if name == "*":
        return "Any reviewer"
    kind, _, who = name.partition(":")
    return f"Team {who}" if kind == "team" else who
