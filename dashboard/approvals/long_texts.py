"""Long texts in the arguments of a request: a page has their beginning, and fetches the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import NotFound
from dashboard.html import trees
from dashboard.html.places import LONG, Places, part_at


def text_addresses(request: UUID, args: Any) -> Callable[[str], str]:
    """The address of the rest of a text inside these arguments; "" where it has none."""
    places = Places("", args)

    def address(text: str) -> str:
        pointer = places.pointer(text)
        return _address(request, pointer, LONG) if pointer else ""

    return address


def text_part(request: UUID, args: Any, pointer: str, start: int) -> HttpResponse:
    """Answer the text at this pointer from `start` on, for the place of its link."""
    try:
        text = part_at(args, pointer)
    except (LookupError, ValueError):
        text = None
    if not isinstance(text, str):
        raise NotFound("There is no such text in this request.")
    here, after = (_address(request, pointer, n) for n in (start, start + trees.WHOLE_STRING))
    part = trees.text_from(text, start, here, after)
    # The page stays where it is: htmx would write the address of what it fetched.
    return HttpResponse(part, headers={"HX-Push-Url": "false"})


def _address(request: UUID, pointer: str, start: int) -> str:
    query = {"text": pointer, "start": start}
    return f"{reverse('approval', args=[request])}?{urlencode(query, safe='/')}"
