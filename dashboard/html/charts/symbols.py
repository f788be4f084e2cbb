"""Symbols of the pages: one file of shapes that a browser keeps, and marks that refer to it."""

from __future__ import annotations

from functools import cache

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

FILE = "dashboard/icons.svg"


@cache
def address(name: str) -> str:
    """The address of a symbol in its file, whose shapes would be a hundred elements of a page."""
    return f"{static(FILE)}#i-{name}"


@cache
def symbol(name: str, css: str = "") -> SafeString:
    """A symbol; decoration, never the only bearer of meaning."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}"/></svg>',
        f" {css}" if css else "",
        address(name),
    )
