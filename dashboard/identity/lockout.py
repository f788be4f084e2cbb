"""Counting passwords that are tried; other ways to sign in have nothing to guess.

Three counts in a quarter of an hour: of the name, of the address, and of the two together. Too many
of a name and address together are refused for the rest of it. Beyond the limit of a name, or of an
address, nobody is shut out: the next attempts are slowed. Then only a pair that has tried next to
nothing may try, and a few of them a minute. So a stranger spends the guesses of his own addresses
and not those of the person whose name he knows.

A browser that signed in as this person before has a count of its own, which no stranger can spend.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from axes.backends import AxesStandaloneBackend
from axes.handlers.database import AxesDatabaseHandler
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

from .rate_limits import (
    LOGIN_ACCOUNT,
    LOGIN_ADDRESS,
    LOGIN_ADDRESS_SLOWED,
    LOGIN_KNOWN,
    LOGIN_PAIR,
    LOGIN_SLOWED,
    Limit,
    TooMany,
    Use,
    address_of,
    count,
)

COUNTED: Final = "_gatepost_counted"
SIGNED_IN: Final = "_gatepost_signed_in"
COOKIE: Final = "gatepost_known"
COOKIE_SECONDS: Final = 180 * 24 * 3600
PEOPLE_MAX: Final = 8
TRIES: Final = 3
_SALT: Final = "gatepost.known-browser"


class FailedAttempts(AxesDatabaseHandler):
    """Records failed attempts; one that meets a success, which deletes them, is recorded anew."""

    def user_login_failed(self, *args: Any, **kwargs: Any) -> None:
        """Record a failed attempt, again where its row was deleted between insert and look."""
        for _ in range(TRIES - 1):
            try:
                super().user_login_failed(*args, **kwargs)
            except IntegrityError:
                continue
            return
        super().user_login_failed(*args, **kwargs)


class PasswordLockout(AxesStandaloneBackend):
    """Refuses a name and address that failed too often together, and slows each by itself.

    Each attempt is counted before the password is checked: simultaneous ones count each. What was
    right is given back. A link is checked without a request, which the inherited backend would
    answer with an error.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises TooMany, and PermissionDenied where name and address are locked out."""
        if username is None:
            return
        if request is not None and (browser := known_browser(request, username)):
            _spend(request, LOGIN_KNOWN, f"{browser}:{username}")
            return
        super().authenticate(request, username=username, password=password, **kwargs)
        if request is not None:
            _count_stranger(request, username, address_of(request))


def known_browser(request: HttpRequest, username: str) -> str:
    """The key of the count of a browser that signed in as this person before; empty for others."""
    user: Any = getattr(request, "user", None)
    if user is not None and user.is_authenticated and user.get_username() == username:
        return f"login:{request.session.session_key}"
    ident, people = _cookie(request)
    return f"browser:{ident}" if _person(username) in people else ""


def remember_browser(request: HttpRequest, response: HttpResponseBase) -> None:
    """Give a browser that has just signed in the cookie by which it is known again."""
    name = getattr(request, SIGNED_IN, "")
    if not name:
        return
    ident, people = _cookie(request)
    mine = _person(name)
    people = [mine, *(one for one in people if one != mine)][:PEOPLE_MAX]
    response.set_signed_cookie(
        COOKIE,
        ".".join([ident or secrets.token_urlsafe(12), *people]),
        salt=_SALT,
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def give_back(request: HttpRequest | None = None, **_kwargs: Any) -> None:
    """A password that was right is no guess."""
    for limit, who in getattr(request, COUNTED, ()):
        limit.give_back(who)
    if request is not None:
        setattr(request, COUNTED, [])


def _signed_in(request: HttpRequest | None = None, user: Any = None, **_kwargs: Any) -> None:
    give_back(request)
    if request is not None and user is not None:
        setattr(request, SIGNED_IN, user.get_username())


def _count_stranger(request: HttpRequest, username: str, address: str) -> None:
    """Count an attempt of a browser that nobody knows; raises TooMany."""
    pair = f"{username}\0{address}"
    counted = [(LOGIN_ACCOUNT, username), (LOGIN_ADDRESS, address), (LOGIN_PAIR, pair)]
    setattr(request, COUNTED, counted)
    by_name, by_address, by_both = count(*(Use(limit, who) for limit, who in counted))
    beyond = [state for state in (by_name, by_address) if state is not None and state.left < 0]
    if not beyond:
        return
    if by_both is not None and by_both.left < 0:
        raise TooMany(LOGIN_PAIR.message, by_both.seconds)
    if by_name in beyond:
        _spend(request, LOGIN_SLOWED, username)
    if by_address in beyond:
        _spend(request, LOGIN_ADDRESS_SLOWED, address)


def _spend(request: HttpRequest, limit: Limit, who: str) -> None:
    setattr(request, COUNTED, [*getattr(request, COUNTED, ()), (limit, who)])
    limit.spend(who)


def _cookie(request: HttpRequest) -> tuple[str, list[str]]:
    """(the id of the browser, digests of the names that it signed in with); empty for others."""
    try:
        text = request.get_signed_cookie(COOKIE, default="", salt=_SALT, max_age=COOKIE_SECONDS)
    except signing.BadSignature:
        return "", []
    ident, *people = str(text).split(".")
    return ident, people


def _person(username: str) -> str:
    """A name as the cookie keeps it: not to be read by who finds it."""
    return salted_hmac(_SALT, username, algorithm="sha256").hexdigest()[:32]


user_logged_in.connect(_signed_in, dispatch_uid="gatepost.lockout")
