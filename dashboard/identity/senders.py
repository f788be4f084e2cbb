"""Identify the sender of a request by its headers alone, before a large body is read."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest

from dashboard.errors import Forbidden
from dashboard.identity import tokens

from .permissions import Actor, actor_of
from .visitors import login_key, visitor

type Headers = Iterable[tuple[bytes, bytes]]


def sender(headers: Headers) -> Actor | None:
    """The member behind a bearer token or a login, or None; blocking.

    Where a token was sent it alone counts, as everywhere. A form's CSRF token is in its body and
    so is looked at later.
    """
    if token := _bearer(headers):
        try:
            return actor_of(*tokens.presented(token))
        except (tokens.Refused, Forbidden):
            return None
    key = login_key(headers)
    return visitor(key) if key else None


def login_headers(request: HttpRequest) -> Headers:
    """The headers of a request that say who sends it, to look at them again later."""
    named = ((name, request.headers.get(name, "")) for name in ("authorization", "cookie"))
    return tuple((name.encode(), value.encode("latin-1")) for name, value in named if value)


def _bearer(headers: Headers) -> str:
    """The token of an Authorization header; empty without one."""
    for name, value in headers:
        if name == b"authorization":
            scheme, _, rest = value.decode("latin-1").strip().partition(" ")
            return rest.strip() if scheme.lower() == "bearer" else ""
    return ""
