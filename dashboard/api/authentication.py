"""Who calls the API: the Django session of a browser, with CSRF.

Bearer tokens come as a second class in this list; nothing else in the API needs to know.
"""

from __future__ import annotations

from drf_spectacular.authentication import SessionScheme
from rest_framework import authentication
from rest_framework.request import Request


class SessionAuthentication(authentication.SessionAuthentication):
    """The browser's login; whoever has none gets 401 instead of 403."""

    def authenticate_header(self, request: Request) -> str:
        """A scheme that makes no browser ask for a password."""
        return "Session"


class SessionDescription(SessionScheme):  # type: ignore[no-untyped-call]
    """The cookie, in the schema."""

    target_class = "dashboard.api.authentication.SessionAuthentication"
