"""Files on pages: where they are looked into, and which are shown as pictures."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.documents.previews.pictures import MEDIA_TYPES as PICTURES
from dashboard.documents.previews.preview import is_previewed
from dashboard.html import file_links

register = template.Library()


@register.simple_tag
def preview_url(file: Any) -> str:
    """The page with a look into a file; "" where there is probably nothing to see."""
    if not is_previewed(file.name, file.media_type):
        return ""
    return file_links.preview_url(file.sha256, file.name)


@register.filter
def is_picture(file: Any) -> bool:
    """Return whether a file says that it is a picture which pages show."""
    return file.media_type in PICTURES
