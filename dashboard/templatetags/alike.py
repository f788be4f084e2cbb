"""The tag of lists that are shown as tables."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.drawing.alike import Rows, lists

register = template.Library()


@register.simple_tag
def alike_lists(value: Any) -> list[Rows]:
    """The lists of alike rows right inside a value."""
    return lists(value)
