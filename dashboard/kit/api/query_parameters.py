"""Query parameters: a call takes those that the document names for it, each once, and no others.

A mistyped one would widen a list (`?agnet=child`) or do what it was only to preview (`?previw=1`).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from dashboard.errors import Invalid

from .parameters import refusal

_declared: dict[tuple[type[APIView], str], Mapping[str, Any]] = {}


def check(request: Request, view: APIView) -> None:
    """Raise Invalid, with its name, for what the document does not let a call take."""
    method = "get" if request.method == "HEAD" else str(request.method).lower()
    if view.schema is None or method == "options" or not hasattr(view, method):
        return  # there is nothing at this address, or nothing done so
    call = (type(view), method)
    if (known := _declared.get(call)) is None:
        known = _declared[call] = _shapes(view, method)
    for name, values in request.query_params.lists():
        if name not in known:
            raise Invalid(name[:80], unknown(name, known))
        if len(values) > 1:
            raise Invalid(name, "is given more than once")
        if message := refusal(known[name], values[0]):
            raise Invalid(name, message)


def unknown(name: str, known: Mapping[str, Any]) -> str:
    """Explain that a parameter is not known here, with the one that was probably meant."""
    near = get_close_matches(name[:80], known, n=1)
    return f"is not taken here; did you mean {near[0]}?" if near else "is not taken here"


def _shapes(view: APIView, method: str) -> dict[str, Any]:
    """The query parameters of a call, as `extend_schema` declares them for its handler."""
    declared = getattr(getattr(view, method), "kwargs", {}).get("schema")
    if declared is None:
        return {}
    schema: Any = declared()
    schema.view, schema.method = view, method.upper()
    return {
        parameter.name: parameter.type
        for parameter in schema.get_override_parameters()
        if isinstance(parameter, OpenApiParameter) and parameter.location == OpenApiParameter.QUERY
    }
