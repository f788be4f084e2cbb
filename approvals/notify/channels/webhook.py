"""Sending one signed message to a webhook: one connection, no redirect, little of the answer."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress

from django.conf import settings

from ..texts.kinds import NotDelivered
from .addresses import Target, resolved

AGENT = "Gatepost"
ANSWER_MAX = 16 * 1024
RETRY_AFTER_MAX = 3600.0


class _Http(http.client.HTTPConnection):
    """Connects to the address that was judged, under the name that was asked for."""

    def __init__(self, target: Target, ip: str, timeout: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self.target, self.ip = target, ip
        self.wire: socket.socket | None = None  # kept when http.client lets go of it

    def connect(self) -> None:
        self.sock = self.wire = socket.create_connection((self.ip, self.target.port), self.timeout)
        if self.target.scheme == "https":
            # Name in the greeting and certificate are those of the endpoint, not of the address.
            secured = _context().wrap_socket(
                self.sock, server_hostname=self.target.host, do_handshake_on_connect=False
            )
            self.sock = self.wire = secured
            secured.do_handshake()

    def shut(self) -> None:
        """End it from another thread."""
        if self.wire is not None:
            with suppress(OSError):
                # Below the encryption, whose own shutdown belongs to the thread that reads.
                socket.socket.shutdown(self.wire, socket.SHUT_RDWR)


def _context() -> ssl.SSLContext:
    result = ssl.create_default_context(cafile=settings.GATEPOST_WEBHOOK_CA or None)
    result.minimum_version = ssl.TLSVersion.TLSv1_2
    return result


def post(target: Target, body: bytes, headers: Mapping[str, str], *, timeout: float) -> int:
    """Send it; the code of the answer, which is 2xx. Raises NotDelivered."""
    return exchange(target, body, headers, timeout=timeout)[0]


def exchange(
    target: Target, body: bytes, headers: Mapping[str, str], *, timeout: float
) -> tuple[int, bytes]:
    """Send it; the code of the answer, which is 2xx, and how it begins. Raises NotDelivered.

    The whole of it takes at most `timeout` seconds once the name is resolved: also an answer that
    comes byte by byte ends then.
    """
    caller = _Http(target, resolved(target), timeout)
    expired = threading.Event()

    def give_up() -> None:
        expired.set()
        caller.shut()

    clock = threading.Timer(timeout, give_up)
    clock.daemon = True
    clock.start()
    try:
        caller.request(
            "POST",
            target.path,
            body=body,
            headers={
                "Content-Type": "application/json",
                "User-Agent": AGENT,
                "Accept": "*/*",
                "Connection": "close",
                **headers,
            },
        )
        answer = caller.getresponse()
        content = b""
        with suppress(OSError, http.client.HTTPException):
            content = answer.read(ANSWER_MAX)
        return _judged(answer), content
    except (OSError, http.client.HTTPException) as error:
        if expired.is_set() or isinstance(error, TimeoutError):
            raise NotDelivered(f"The endpoint did not answer within {timeout:g} s.") from None
        raise NotDelivered(_why(error)) from None
    finally:
        clock.cancel()
        caller.close()


def _judged(answer: http.client.HTTPResponse) -> int:
    code = answer.status
    if 200 <= code < 300:
        return code
    if 300 <= code < 400:
        raise NotDelivered(f"The endpoint answered {code}; redirects are not followed.", code=code)
    if code == 410:
        raise NotDelivered("The endpoint answered 410: it is gone.", code=code, final=True)
    raise NotDelivered(f"The endpoint answered {code}.", code=code, retry_after=_asked_for(answer))


def _asked_for(answer: http.client.HTTPResponse) -> float:
    message = answer.getheader("Retry-After", "")
    if answer.status in (429, 503) and message.isascii() and message.isdigit() and len(message) < 7:
        return min(float(message), RETRY_AFTER_MAX)
    return 0


def _why(error: Exception) -> str:
    """Describe the error in our own words: the library's may hold the address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "The certificate of the endpoint is not trusted."
    if isinstance(error, ssl.SSLError):
        return "No encrypted connection could be made to the endpoint."
    if isinstance(error, ConnectionRefusedError):
        return "The endpoint refused the connection."
    if isinstance(error, ConnectionError | http.client.RemoteDisconnected):
        return "The endpoint ended the connection."
    if isinstance(error, http.client.HTTPException):
        return "The endpoint answered something that is not HTTP."
    return "The endpoint could not be reached."
