"""Read the person behind a login cookie: the same answer for new and open sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie

from dashboard.errors import Forbidden

from .permissions import Actor, actor_of
from .signed_in import choosing


def login_key(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The key of the login that a request's cookies carry; empty when there is none."""
    for name, value in headers:
        if name == b"cookie":
            result = parse_cookie(value.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
            if result:
                return result
    return ""


def visitor(key: str) -> Actor | None:
    """The signed-in member with the roles of this moment, or None; blocking.

    None too for a person who has to set up a second factor first: nothing is sent to them.
    """
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore
    session = store(session_key=key)
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    if not user.is_authenticated:
        return None
    try:
        actor = actor_of(choosing(user, session))
    except Forbidden:
        return None
    return None if actor.lacks_factor else actor


def visitors(keys: Iterable[str]) -> Mapping[str, Actor]:
    """The signed-in people behind these keys; blocking."""
    return {key: actor for key in keys if (actor := visitor(key)) is not None}
