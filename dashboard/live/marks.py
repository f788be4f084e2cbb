"""Marks of regions: a page brings the mark of each that it shows; its socket sends the others.

A mark is made from the HTML: no change is too small for it, and no clock decides what is new.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from django import template
from django.template import RequestContext
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

# Pages count ages on by themselves: two looks that differ in them alone show the same.
COUNTED = re.compile(r"(<time\b[^>]*>)[^<]*")


def region_mark(html: str) -> str:
    """A short name of what a region shows, whatever the time now."""
    text = COUNTED.sub(r"\1", html.strip())
    return sha256(text.encode(errors="replace")).hexdigest()[:12]


@register.simple_block_tag(takes_context=True)
def region(context: Any, content: str) -> SafeString:
    """`{% region %}…{% endregion %}` around the element of a region: a page gets its mark with it.

    What is pushed or fetched for an open page is rendered without a request and has none.
    """
    if isinstance(context, RequestContext):
        mark = f'data-mark="{region_mark(content)}" data-region='
        content = content.replace("data-region=", mark, 1)
    return mark_safe(content)  # noqa: S308 - the template's own output, escaped where it had to be
