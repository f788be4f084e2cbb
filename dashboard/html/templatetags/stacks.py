"""Cells of Django's lists with the name of their column, which a phone shows beside the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from dashboard.wording.text import plain

register = template.Library()

_OPENS = re.compile(r"<t([dh])\b")
# As a block, a cell is one still to those who do not see it.
_ROLES = {"d": "cell", "h": "rowheader"}


@register.filter
def labelled(cells: Iterable[str], headers: Iterable[Mapping[str, Any]]) -> list[SafeString]:
    """The cells of a row, as the admin site made them, each with its column's name and its role."""
    return [_labelled(cell, header) for cell, header in zip(cells, headers, strict=True)]


def _labelled(cell: str, header: Mapping[str, Any]) -> SafeString:
    opens = _OPENS.match(cell)
    at = opens.end() if opens else 0
    name = plain(capfirst(str(header["text"])))
    more = (
        format_html(' role="{}" data-label="{}"', _ROLES[opens[1]], name) if opens else SafeString()
    )
    return mark_safe(cell[:at] + more + cell[at:])  # noqa: S308 - the admin site has escaped it
