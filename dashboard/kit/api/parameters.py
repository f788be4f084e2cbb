"""Parameters of query and headers; `refusal` checks what the document states of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from drf_spectacular.utils import OpenApiParameter

from dashboard.kit.shapes.texts import is_id

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
SEQ_MAX = 2**62
TEXT_MAX: Final = 1_000
# Also as Python writes them: `params={"preview": True}`.
YES, NO = ("true", "True", "1", "yes"), ("false", "False", "0", "no")
VERSION_MAX: Final = len('W/""') + 18
_VERSION: Final = re.compile(r'(?:W/)?"?([0-9]{1,18})"?')


def whole(
    name: str,
    description: str,
    *,
    low: int = 0,
    high: int = SEQ_MAX,
    location: Literal["query", "header"] = "query",
) -> OpenApiParameter:
    """A parameter that takes a whole number; the document and `number` read its bounds."""
    bounds = {"type": "integer", "minimum": low, "maximum": high}
    return OpenApiParameter(name, bounds, location, description=description)


def rows(high: int) -> OpenApiParameter:
    """The parameter for the number of rows per page."""
    return whole("limit", f"Rows per page, 1 to {high}.", low=1, high=high)


def words(
    name: str, description: str, *, pattern: str = "", longest: int = TEXT_MAX
) -> OpenApiParameter:
    """A text; the view that takes it refuses what does not match `pattern`."""
    shape: dict[str, Any] = {"type": "string", "maxLength": longest}
    return OpenApiParameter(
        name, shape | ({"pattern": pattern} if pattern else {}), description=description
    )


def flag(name: str, description: str) -> OpenApiParameter:
    """Yes or no."""
    return choice(name, (*YES, *NO), description)


def choice(name: str, known: Sequence[str], description: str) -> OpenApiParameter:
    """One of some words."""
    return OpenApiParameter(name, {"type": "string", "enum": list(known)}, description=description)


def ident(name: str, description: str, *, required: bool = False) -> OpenApiParameter:
    """The id of something."""
    shape = {"type": "string", "format": "uuid"}
    return OpenApiParameter(name, shape, required=required, description=description)


def version(name: str, description: str) -> OpenApiParameter:
    """A header with a thread's version, as `ETag` has it."""
    pattern = rf"^(\*|{_VERSION.pattern})$"
    shape = {"type": "string", "maxLength": VERSION_MAX, "pattern": pattern}
    return OpenApiParameter(name, shape, OpenApiParameter.HEADER, description=description)


IF_MATCH = version("If-Match", "The thread's version that was looked at; 412 when it has moved.")


def version_in(header: str) -> int | None:
    """The version that such a header names, None where any will do; raises ValueError."""
    if header in ("", "*"):
        return None
    if (match := _VERSION.fullmatch(header)) is None:
        raise ValueError(header)
    return int(match[1])


def refusal(shape: Any, value: str) -> str:
    """Explain what is wrong with the value of a query parameter, by its shape in the document.

    Empty if nothing is. The view checks patterns, since it can say in words what it expects.
    """
    if not isinstance(shape, dict) or not value:
        return ""  # an empty one counts as missing
    if (known := shape.get("enum")) and value not in known:
        flags = known == [*YES, *NO]
        return "must be true or false" if flags else f"knows only {', '.join(known)}"
    if shape["type"] == "integer":
        low, high = shape["minimum"], shape["maximum"]
        digits = value.isascii() and value.isdigit() and len(value) < 20
        if not (digits and low <= int(value) <= high):
            return f"must be a whole number from {low} to {high}"
    if shape.get("format") == "uuid" and not is_id(value):
        return "must be an id, 32 hexadecimal digits with four hyphens"
    if len(value) > shape.get("maxLength", TEXT_MAX):
        return f"is longer than {shape['maxLength']:,} characters"
    return ""
