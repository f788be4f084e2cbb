"""Read the person behind a login: found by Django, acting in the login's workspace."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import BACKEND_SESSION_KEY, get_user
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from dashboard.configuration.sign_in import PASSWORDS

from .lockout import remember_browser
from .permissions import Login
from .sign_ins import records

# Where a login keeps the workspace that its person has chosen.
WORKSPACE: Final = "workspace"


class Authentication(AuthenticationMiddleware):
    """Django's; `request.known_user` is set once `request.user` was read."""

    def process_request(self, request: HttpRequest) -> None:
        """Nothing is read before somebody asks."""
        super().process_request(request)
        lazy: Any = SimpleLazyObject(lambda: _read(request))
        request.user = lazy

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """A browser that has just signed in is known from now on."""
        remember_browser(request, response)
        return response


def _read(request: Any) -> Any:
    request.known_user = choosing(get_user(request), request.session)
    if request.known_user.is_authenticated:
        records.seen(request.session)
    return request.known_user


def choosing(user: Any, session: Any) -> Any:
    """The same user, who acts in the workspace that this login has chosen, if it has.

    Nobody where the log does not say that this login began.
    """
    if user.is_authenticated and not records.has_begun(user.pk, session):
        return AnonymousUser()
    if user.is_authenticated:
        confirmed = session.get(records.CONFIRMED)
        user.login = Login(
            str(session.session_key),
            datetime.fromisoformat(confirmed) if confirmed else None,
            session.get(BACKEND_SESSION_KEY) == PASSWORDS,
        )
        if stored := session.get(WORKSPACE):
            user.acts_in = UUID(stored)
    return user
