"""Counting failed passwords; other ways to sign in have nothing to guess."""

from typing import Any

from axes.backends import AxesStandaloneBackend
from django.http import HttpRequest


class PasswordLockout(AxesStandaloneBackend):
    """Refuses a name and address that failed too often; one-time links pass by.

    A link is checked without a request, which the inherited backend would answer with an error.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> None:
        if username is not None:
            super().authenticate(request, username=username, password=password, **kwargs)
