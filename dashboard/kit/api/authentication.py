"""Authenticate API calls: a script's bearer token, or a browser's Django session with CSRF.

A token is read from the Authorization header and nowhere else: addresses and bodies end up in
logs. Where one was sent it alone counts, so a login cookie beside a bad one wins nothing.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from dashboard.identity import tokens
from dashboard.identity.permissions import Grant, scope_of
from gatepost_command import COMMAND

SCHEME = "bearer"


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer gp_...`; `request.auth` is the Grant. Needs no CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, Grant] | None:
        """The token's user and grant; None without such a header, AuthenticationFailed for others.

        Other schemes are left alone, since a proxy in front may ask for a password of its own.
        """
        scheme, token = _sent(request)
        if scheme == SCHEME:
            try:
                return tokens.presented(token)
            except tokens.Refused as error:
                raise exceptions.AuthenticationFailed(str(error)) from error
        if scheme.startswith("gp_") or token.startswith("gp_"):
            raise exceptions.AuthenticationFailed(
                "A token is sent as `Authorization: Bearer gp_...`."
            )
        return None

    def authenticate_header(self, request: Request) -> str:
        """RFC 6750; says that the token is at fault where one was sent."""
        at_fault = _sent(request)[0] == SCHEME
        return 'Bearer realm="gatepost"' + (', error="invalid_token"' if at_fault else "")


def _sent(request: Request) -> tuple[str, str]:
    """(scheme in small letters, the rest) of the Authorization header; empty without one."""
    scheme, _, rest = request.headers.get("Authorization", "").strip().partition(" ")
    return scheme.lower(), rest.strip()


class SessionAuthentication(authentication.SessionAuthentication):
    """The browser's login."""


class TokenDescription(OpenApiAuthenticationExtension):
    """The header, in the schema."""

    target_class = "dashboard.kit.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI names bearer tokens."""
        return {
            "type": "http",
            "scheme": SCHEME,
            "bearerFormat": "gp_<prefix>_<secret>",
            "description": f"Made by `{COMMAND} token USER`; its scopes narrow the user's roles.",
        }

    def get_security_requirement(self, auto_schema: Any) -> dict[str, list[str]]:
        """With the scope that the call needs: OpenAPI 3.1 takes names of roles here."""
        changes = getattr(auto_schema.view, "changes", "") if auto_schema.method == "POST" else ""
        return {self.name: [scope_of(changes or "read")]}


class SessionDescription(SessionScheme):
    """The cookie, in the schema."""

    target_class = "dashboard.kit.api.authentication.SessionAuthentication"
