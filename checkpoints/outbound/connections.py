"""HTTP connections to addresses that the one rule allows; others are not made.

A name is resolved for each new connection, and the connection goes to what was judged, under the
name that was asked for. Redirects are not followed: a credential would go elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from . import addresses

# The addresses behind a host and port, in the order to try them; raises addresses.NotCalled.
type Judge = Callable[[str, int], Sequence[str]]

LIMITS: Final = httpx2.Limits(max_connections=100, max_keepalive_connections=20)
_ERRORS: Final = {
    getattr(httpcore2, name): getattr(httpx2, name)
    for name in (
        *("TimeoutException", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"),
        *("NetworkError", "ConnectError", "ReadError", "WriteError"),
        *("ProtocolError", "LocalProtocolError", "RemoteProtocolError"),
        *("ProxyError", "UnsupportedProtocol"),
    )
}
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")
_NEXT: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout)


def judge_of_settings(url: str, what: str) -> Judge:
    """Judge what the settings name: of the public internet, or of a private network.

    `url` "" is an address that a library brings along. Its text is judged as it was written: a
    client reads odd spellings as the address that they mean.
    """

    def judge(host: str, port: int) -> list[str]:
        if url and (problem := addresses.problem_of_setting(url)):
            raise addresses.NotCalled(f"The address of the {what} is not called: it {problem}.")
        return addresses.allowed(host, port, addresses.OF_SETTINGS, what=what)

    return judge


def client(url: str, *, what: str = "server", **options: Any) -> httpx2.Client:
    """A client for an address that the settings name."""
    transport = CheckedTransport(judge_of_settings(url, what), proxy=proxy_of(url))
    return httpx2.Client(transport=transport, follow_redirects=False, **options)


def proxy_of(url: str) -> str:
    """The proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY); "" for none."""
    parts, proxies = urlsplit(url), getproxies()
    proxy, host = proxies.get(parts.scheme) or proxies.get("all") or "", parts.hostname or ""
    if not proxy or host in _THIS_MACHINE or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


class CheckedTransport(httpx2.BaseTransport):
    """Connections of a client; each goes where its judge allows."""

    def __init__(self, judge: Judge, *, proxy: str = "") -> None:
        self._pool = httpcore2.ConnectionPool(
            network_backend=_Backend(judge), **_options(LIMITS, proxy)
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raises errors of httpx2."""
        with _translated():
            response = self._pool.handle_request(_request(request))
        return _response(response, _Stream(cast(Iterable[bytes], response.stream)))

    def close(self) -> None:
        """End all connections."""
        self._pool.close()


class AsyncCheckedTransport(httpx2.AsyncBaseTransport):
    """The same for a client of an event loop; the environment is not read unless wanted."""

    def __init__(
        self,
        judge: Judge,
        *,
        limits: httpx2.Limits = LIMITS,
        proxy: str = "",
        trust_env: bool = True,
    ) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            network_backend=_AsyncBackend(judge), **_options(limits, proxy, trust_env=trust_env)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raises errors of httpx2."""
        with _translated():
            response = await self._pool.handle_async_request(_request(request))
        return _response(response, _AsyncStream(cast(AsyncIterable[bytes], response.stream)))

    async def aclose(self) -> None:
        """End all connections."""
        await self._pool.aclose()


class _Backend(httpcore2.SyncBackend):
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        """Connect to the first address that answers, of those that were judged."""
        error: Exception | None = None
        for address in _judged(self._judge, host, port):
            try:
                return super().connect_tcp(address, port, *args, **options)
            except _NEXT as failure:
                error = failure
        raise error or httpcore2.ConnectError()


class _AsyncBackend(httpcore2.AnyIOBackend):
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        """Connect to the first address that answers, of those that were judged."""
        error: Exception | None = None
        for address in await asyncio.to_thread(_judged, self._judge, host, port):
            try:
                return await super().connect_tcp(address, port, *args, **options)
            except _NEXT as failure:
                error = failure
        raise error or httpcore2.ConnectError()


def _judged(judge: Judge, host: str, port: int) -> Sequence[str]:
    try:
        return judge(host, port)
    except addresses.NotCalled as error:
        raise httpcore2.ConnectError(str(error)) from None


def _options(limits: httpx2.Limits, proxy: str, *, trust_env: bool = True) -> dict[str, Any]:
    """Options of both pools. `trust_env`: SSL_CERT_FILE and SSL_CERT_DIR name more authorities."""
    named = [os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")]
    return {
        "ssl_context": _authorities(trust_env, *named),
        "proxy": _proxy(proxy) if proxy else None,
        "max_connections": limits.max_connections,
        "max_keepalive_connections": limits.max_keepalive_connections,
        "keepalive_expiry": limits.keepalive_expiry,
    }


# Read once in a process: all authorities take longer to read than a call to a server nearby.
@lru_cache(maxsize=4)
def _authorities(trust_env: bool, _file: str, _folder: str) -> Any:
    return httpx2.create_ssl_context(trust_env=trust_env)


def _proxy(url: str) -> httpcore2.Proxy:
    parsed = httpx2.Proxy(url)
    return httpcore2.Proxy(url=str(parsed.url), auth=parsed.raw_auth)


def _request(request: httpx2.Request) -> httpcore2.Request:
    url = request.url
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        ),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _response(response: httpcore2.Response, stream: Any) -> httpx2.Response:
    return httpx2.Response(
        response.status, headers=response.headers, stream=stream, extensions=response.extensions
    )


class _Stream(httpx2.SyncByteStream):
    def __init__(self, inner: Iterable[bytes]) -> None:
        self._inner: Any = inner

    def __iter__(self) -> Iterator[bytes]:
        with _translated():
            yield from self._inner

    def close(self) -> None:
        self._inner.close()


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, inner: AsyncIterable[bytes]) -> None:
        self._inner: Any = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._inner:
                yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the pool as a client of httpx2 raises them."""
    try:
        yield
    except tuple(_ERRORS) as error:
        raise _ERRORS[type(error)](str(error)) from error
