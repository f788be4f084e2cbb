"""Calls of the sign-in to the provider, by the one rule for addresses."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from requests.utils import select_proxy

from checkpoints.outbound import addresses

SECONDS: Final = 5  # as the library has it


class ProviderCalls(Session):
    """Calls the provider and what its document names: never with less encryption, no redirects.

    The secret of the client goes along. Another host than the provider's own is on the public
    internet: a document can't lead into the own network.
    """

    def __init__(self) -> None:
        super().__init__()
        # Else a password of the machine's .netrc would go along.
        self.auth = _unchanged
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Judged())

    def request(self, method: Any, url: Any, *args: Any, **more: Any) -> Response:
        """Call an address; raises RequestException."""
        parts, issuer = urlsplit(str(url)), urlsplit(_issuer())
        if parts.scheme not in ("https", issuer.scheme) or parts.username or parts.password:
            raise InvalidURL("another scheme than the provider's, or a user")
        if problem := addresses.problem_of(parts.hostname or "", _networks(parts.hostname)):
            raise InvalidURL(problem)
        more = {"timeout": SECONDS, **more, "allow_redirects": False}
        return super().request(method, url, *args, **more)


class _Judged(HTTPAdapter):
    """Connections to the address that was judged, under the name that was asked for.

    Where the environment names a proxy, the proxy resolves the name of the provider itself.
    """

    def get_connection_with_tls_context(
        self, request: PreparedRequest, verify: Any, proxies: Any = None, cert: Any = None
    ) -> Any:
        """The pool of a request; raises InvalidURL."""
        target, pool = self.build_connection_pool_key_attributes(request, verify, cert)
        host = str(target["host"])
        proxied = bool(select_proxy(str(request.url), proxies))
        networks = _networks(host)
        try:
            if not proxied or networks is not addresses.OF_SETTINGS:
                port = int(target["port"] or (443 if target["scheme"] == "https" else 80))
                target["host"] = addresses.resolved(host, port, networks, what="provider")
        except addresses.NotCalled as error:
            raise InvalidURL(str(error), request=request) from None
        if proxied:
            return super().get_connection_with_tls_context(request, verify, proxies, cert)
        if target["scheme"] == "https":
            pool = {**pool, "server_hostname": host}
        return self.poolmanager.connection_from_host(**target, pool_kwargs=pool)

    def add_headers(self, request: PreparedRequest, **_: Any) -> None:
        """Name the host that was asked for; the connection knows an address only."""
        request.headers["Host"] = urlsplit(str(request.url)).netloc


def _networks(host: str | None) -> tuple[str, ...]:
    """Networks beyond the public internet: the settings name the provider's own host."""
    return addresses.OF_SETTINGS if host == urlsplit(_issuer()).hostname else ()


def _unchanged(request: PreparedRequest) -> PreparedRequest:
    return request


def _issuer() -> str:
    return settings.GATEPOST_OIDC.issuer if settings.GATEPOST_OIDC else ""
