"""Reading a page of the public web, for agents: bounded, by TLS, by the one rule for addresses.

Each redirect is a new address: it is judged like the first, and the caller says whether another
host may be read at all. No credential goes out, and nothing is sent but the address.
"""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx2

from checkpoints.outbound import addresses
from checkpoints.outbound.connections import CheckedTransport

BYTES_MAX: Final = 1_048_576
URL_MAX: Final = 2_000
REDIRECTS_MAX: Final = 5
SECONDS_MAX: Final = 20.0  # of one answer, from the request to its last byte
STEP_SECONDS: Final = 10.0  # without a byte
TEXTS: Final = frozenset((
    *("text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/csv"),
    *("application/json", "application/xml", "text/xml"),
))  # fmt: skip
HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
HEADERS: Final = {
    "User-Agent": "Gatepost",
    "Accept": ", ".join(sorted(TEXTS)),
    # What is packed can unpack to any size.
    "Accept-Encoding": "identity",
}
# Refused for now: another attempt may be answered.
_LATER: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
_MOVED: Final = frozenset((301, 302, 303, 307, 308))
_PORTS: Final = {"http": 80, "https": 443}
_CHARSETS: Final = re.compile(
    r"utf-8|utf-16(-le|-be)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|shift_jis|euc_(jp|kr)|iso2022_jp|"
    r"gb2312|gbk|gb18030|big5"
)
_META: Final = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


class NotRead(Exception):
    """A page is not read; the text is a sentence about it."""


class NotNow(Exception):
    """A site refused for now; another attempt may be answered. Other sites have no part in it."""

    of_one_place = True

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"The site answered {response.status_code}.")
        self.status_code, self.headers = response.status_code, response.headers


@dataclass(frozen=True, slots=True)
class RawPage:
    """An answer: the address that gave it, its media type, its bytes and its text as decoded."""

    address: str
    media_type: str
    raw: bytes
    text: str


def host_of(url: str) -> str:
    """The host that a policy reads, with its port unless that is the usual one; raises NotRead."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise NotRead("It is no address.") from None
    if len(url) > URL_MAX:
        raise NotRead(f"Its address is longer than {URL_MAX:,} characters.")
    if parts.scheme not in _PORTS or not host or not url.isprintable() or " " in url:
        raise NotRead("Its address must be https://, with a host.")
    if "@" in parts.netloc:
        raise NotRead("Its address must not carry a user or a password.")
    shown = f"[{host}]" if ":" in host else host
    return shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"


def read_page(url: str, *, networks: Sequence[str], may_read: Callable[[str], bool]) -> RawPage:
    """The page at an address, after redirects to hosts that `may_read` lets through.

    Raises NotRead for what no second attempt mends; NotNow and errors of httpx2 for all else.
    """
    first = host_of(url)
    for _ in range(REDIRECTS_MAX + 1):
        target, page = _answer(url, networks)
        if page is not None:
            return page
        if host_of(target) != first and not may_read(target):
            raise NotRead(f"It leads to {host_of(target)}, which no policy lets this agent read.")
        url = target
    raise NotRead(f"It leads on more than {REDIRECTS_MAX} times.")


def _answer(url: str, networks: Sequence[str]) -> tuple[str, RawPage | None]:
    """(where the page has moved, None) or ("", the page)."""
    parts = urlsplit(url)
    refused: list[str] = []

    def judge(host: str, port: int) -> list[str]:
        only_listed = parts.scheme == "http"
        try:
            return addresses.allowed(host, port, networks, only_listed=only_listed, what="host")
        except addresses.NotResolved:
            raise
        except addresses.NotCalled as error:
            refused.append(str(error))
            raise

    if problem := addresses.problem_of(parts.hostname or "", networks):
        raise NotRead(f"Its host is not called: {problem}.")
    plain = urlunsplit(parts._replace(fragment=""))
    timeout = httpx2.Timeout(STEP_SECONDS)
    try:
        with (
            httpx2.Client(transport=CheckedTransport(judge), timeout=timeout) as client,
            client.stream("GET", plain, headers=HEADERS, follow_redirects=False) as response,
        ):
            if response.status_code in _MOVED:
                return urljoin(plain, response.headers.get("location", "")), None
            return "", _page(plain, response)
    except httpx2.ConnectError:
        if refused:
            raise NotRead(refused[0]) from None
        raise
    except (httpx2.InvalidURL, UnicodeError):
        raise NotRead("It is no address.") from None


def _page(url: str, response: httpx2.Response) -> RawPage:
    if response.status_code in _LATER:
        raise NotNow(response)
    if response.status_code != 200:
        raise NotRead(f"It answered {response.status_code}.")
    media_type, _, parameters = response.headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()
    if media_type not in TEXTS:
        raise NotRead(f"It is {media_type or 'of no media type'}, which is not read as text.")
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise NotRead("It comes packed, though it was asked for as it is.")
    raw, until = bytearray(), time.monotonic() + SECONDS_MAX
    for part in response.iter_raw():
        raw += part
        if len(raw) > BYTES_MAX:
            raise NotRead(f"It has more than the {BYTES_MAX:,} bytes that are read.")
        if time.monotonic() > until:
            raise httpx2.ReadTimeout("The page took too long.")
    return RawPage(url, media_type, bytes(raw), _decoded(bytes(raw), media_type, parameters))


def _decoded(raw: bytes, media_type: str, parameters: str) -> str:
    named = re.search(r"charset=[\"']?\s*([\w.:-]{1,40})", parameters, re.IGNORECASE)
    name = named[1] if named else ""
    if not name and media_type in HTML and (meta := _META.search(raw[:2_048])):
        name = meta[1].decode("ascii", "replace")
    try:
        codec = codecs.lookup(name or "utf-8").name
        # Others unpack, or take long.
        text = raw.decode(codec if _CHARSETS.fullmatch(codec) else "utf-8", "replace")
    except (LookupError, ValueError):
        text = raw.decode("utf-8", "replace")
    # No record takes NUL or half a character.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
