"""What the inbox's rows show beside the filters of all pages."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard import amounts

register = template.Library()
register.filter("amount", amounts.amount_of)


@register.filter
def same_amount(rows: Any) -> str:
    """The amount of equal requests where it is one and the same; empty otherwise."""
    found = {amounts.amount_of(row.args) for row in rows}
    return found.pop() if len(found) == 1 else ""


@register.filter
def any_ticks(rows: Any) -> bool:
    """Whether some of these requests can be decided together with others."""
    return any(not row.opens for row in rows)


@register.filter
def seat(name: str) -> str:
    """A seat of a request's terms in words: a person, a team, any reviewer."""
    if name == "*":
        return "Any reviewer"
    kind, _, who = name.partition(":")
    return f"Team {who}" if kind == "team" else who
