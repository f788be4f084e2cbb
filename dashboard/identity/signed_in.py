"""Who is behind a login: the person, their roles and teams of this moment, by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user,
    get_user_model,
)
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from checkpoints import queries

# Where a login keeps the workspace that its person has chosen.
WORKSPACE: Final = "workspace"
# Whose login a key was: says which user to read beside it, and nothing about what is so now.
GUESSES: Final = 10_000
_guesses: Final[dict[str, str]] = {}
# Backends that find a person by the primary key alone, as the statement here does.
_BY_KEY: Final = ("django.contrib.auth.backends.ModelBackend", "sesame.backends.ModelBackend")


class Authentication(AuthenticationMiddleware):
    """Django's, with a reader of its own for `request.user`."""

    def process_request(self, request: HttpRequest) -> None:
        """Nothing is read before somebody asks."""
        super().process_request(request)
        found: Any = SimpleLazyObject(lambda: _once(request))
        request.user = found


def _once(request: Any) -> Any:
    # Where Django keeps it as well, and where the line about the request looks.
    if not hasattr(request, "_cached_user"):
        request._cached_user = choosing(signed_in(request), request.session)
    return request._cached_user


def choosing(user: Any, session: Any) -> Any:
    """The same user, who acts in the workspace that this login has chosen, if it has."""
    if user.is_authenticated and (stored := session.get(WORKSPACE)):
        user.acts_in = UUID(stored)
    return user


def signed_in(request: Any) -> Any:
    """The user of `request.session`, or Django's AnonymousUser.

    Only what is plainly a login in force is answered here. All else is left to Django's get_user,
    which ends a login that is none any more.
    """
    session = request.session
    guessed, user = _together(session)
    path, known = session.get(BACKEND_SESSION_KEY), session.get(HASH_SESSION_KEY)
    if SESSION_KEY in session and known and path in _BY_KEY:
        if path not in settings.AUTHENTICATION_BACKENDS:
            user = None
        elif user is None or session[SESSION_KEY] != guessed:
            user = _user(_read(session[SESSION_KEY]))
        if (
            user is not None
            and user.is_active
            and constant_time_compare(known, user.get_session_auth_hash())
        ):
            if len(_guesses) >= GUESSES:
                _guesses.clear()
            _guesses[session.session_key] = session[SESSION_KEY]
            return user
    return get_user(request)


def _together(session: Any) -> tuple[str, Any]:
    """(whose login this was before, that user): login and person by one statement.

    Who it is stands in the login itself, so what is read here is a guess until that was looked at.
    """
    guessed = _guesses.get(session.session_key, "")
    if not guessed or not getattr(session, "unread", False):
        return "", None
    found = _read(guessed, *session.statement)
    if found is None or found.beside is None:
        return "", None
    session.take(found.beside)
    return guessed, _user(found)


@cache
def _columns() -> tuple[tuple[str, ...], tuple[str, ...]]:
    fields = get_user_model()._meta.concrete_fields
    return tuple(f.attname for f in fields), tuple(str(f.column) for f in fields)


def _read(key: str, beside: str = "NULL", params: Sequence[Any] = ()) -> queries.Member | None:
    model: Any = get_user_model()
    return queries.member(
        model._meta.pk.to_python(key),
        table=model._meta.db_table,
        own=_columns()[1],
        beside=beside,
        params=params,
    )


def _user(found: queries.Member | None) -> Any:
    """The user as Django would load it, with what `permissions.actor_of` will ask about them."""
    if found is None:
        return None
    model: Any = get_user_model()
    user = model.from_db("default", _columns()[0], found.own)
    user.read_now = found
    return user
