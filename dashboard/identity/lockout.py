"""Counting passwords that are tried; other ways to sign in have nothing to guess."""

from __future__ import annotations

from typing import Any

from axes.backends import AxesStandaloneBackend
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest

from .rate_limits import LOGIN_ACCOUNT, LOGIN_ADDRESS, address_of

COUNTED = "_gatepost_counted_name"


class PasswordLockout(AxesStandaloneBackend):
    """Refuses a name and address that failed too often together, and each of them by itself.

    Each attempt is counted before the password is looked at: many at once are many. What was right
    is given back. A link is checked without a request, which the inherited backend would answer
    with an error.
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
        super().authenticate(request, username=username, password=password, **kwargs)
        if request is not None:
            LOGIN_ADDRESS.spend(address_of(request))
            LOGIN_ACCOUNT.spend(username)
            setattr(request, COUNTED, username)


def give_back(request: HttpRequest | None = None, **_kwargs: Any) -> None:
    """A password that was right is no guess."""
    name = getattr(request, COUNTED, None)
    if request is not None and name is not None:
        LOGIN_ADDRESS.give_back(address_of(request))
        LOGIN_ACCOUNT.give_back(name)


user_logged_in.connect(give_back, dispatch_uid="gatepost.lockout")
