"""Query parameters: a call takes those that the document names for it, each once, and no others.

A mistyped one would widen a list (`?agnet=child`) or do what it was only to tell (`?previw=1`).
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from dashboard.errors import Invalid

_names: dict[tuple[type[APIView], str], frozenset[str]] = {}


def check(request: Request, view: APIView) -> None:
    """Raise Invalid, with its name, for a parameter that the call does not take or takes once."""
    method = "get" if request.method == "HEAD" else str(request.method).lower()
    if view.schema is None or method == "options" or not hasattr(view, method):
        return  # there is nothing at this address, or nothing done so
    call = (type(view), method)
    if (known := _names.get(call)) is None:
        known = _names[call] = _declared(view, method)
    for name, values in request.query_params.lists():
        if name not in known:
            raise Invalid(name[:80], "is not taken here")
        if len(values) > 1:
            raise Invalid(name, "is given more than once")


def _declared(view: APIView, method: str) -> frozenset[str]:
    """The query parameters of a call, as `extend_schema` declares them for its handler."""
    declared = getattr(getattr(view, method), "kwargs", {}).get("schema")
    if declared is None:
        return frozenset()
    schema: Any = declared()
    schema.view, schema.method = view, method.upper()
    return frozenset(
        parameter.name
        for parameter in schema.get_override_parameters()
        if isinstance(parameter, OpenApiParameter) and parameter.location == OpenApiParameter.QUERY
    )
