"""Calls of the sign-in to the provider, by the one rule for addresses."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from requests import Response, Session
from requests.exceptions import InvalidURL

from checkpoints.outbound import addresses

SECONDS: Final = 5  # as the library has it


class ProviderCalls(Session):
    """Calls the provider and what its document names: never with less encryption, no redirects.

    The secret of the client goes along. Another host than the provider's own is on the public
    internet: a document can't lead into the own network.
    """

    def request(self, method: Any, url: Any, *args: Any, **more: Any) -> Response:
        """Call an address; raises RequestException."""
        parts, issuer = urlsplit(str(url)), urlsplit(_issuer())
        if parts.scheme not in ("https", issuer.scheme) or parts.username or parts.password:
            raise InvalidURL("another scheme than the provider's, or a user")
        if parts.hostname != issuer.hostname:
            host = parts.hostname or ""
            try:
                if problem := addresses.problem_of(host, ()):
                    raise InvalidURL(problem)
                addresses.resolved(host, parts.port or 443, ())
            except (addresses.NotCalled, ValueError) as error:
                raise InvalidURL(str(error)) from None
        more = {"timeout": SECONDS, **more, "allow_redirects": False}
        return super().request(method, url, *args, **more)


def _issuer() -> str:
    return settings.GATEPOST_OIDC.issuer if settings.GATEPOST_OIDC else ""
