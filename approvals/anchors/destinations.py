"""Destinations of anchors, as GATEPOST_ANCHORS names them.

file:///mnt/audit/gatepost.jsonl       appended to, whole anchors
mailto:auditor@example.com?every=3600  the hash, once an hour
https://audit.example/anchors          the hash, signed by Standard Webhooks
tsa+https://tsa.example/?ca=/etc/tsa.pem  a time stamp of the hash (RFC 3161)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

EVERY: Final = {"file": 60.0, "mailto": 3600.0, "https": 60.0, "http": 60.0, "tsa": 60.0}
SHORTEST, LONGEST = 10.0, 7 * 86_400.0
NAME_MAX: Final = 200  # of the column
_OPTIONS: Final = ("every", "ca")


@dataclass(frozen=True, slots=True)
class Destination:
    """A place; `name` is what may be shown of it, `address` what it is called by.

    `every` is how often it gets an anchor, in seconds; `ca` the file of certificates that vouch for
    an authority of time stamps.
    """

    kind: str
    name: str
    address: str = field(repr=False)
    every: float
    ca: str = ""


def parse(text: str) -> Destination:
    """One destination; raises ValueError with what is wrong, without the address."""
    result = _parsed(text.strip())
    if len(result.name) > NAME_MAX:
        raise ValueError(f"needs a shorter address: its shown part has over {NAME_MAX} characters")
    if not result.name.isprintable() or not result.address.isprintable():
        raise ValueError("needs an address without control characters")
    return result


def _parsed(text: str) -> Destination:
    kind, _, rest = text.partition(":")
    stamps = kind.startswith("tsa+")
    address = text.removeprefix("tsa+")
    parts = urlsplit(address)
    kind = "tsa" if stamps else kind
    if kind not in EVERY or not rest or (stamps and parts.scheme not in ("http", "https")):
        raise ValueError("begins with none of file:, mailto:, https:, tsa+https:, tsa+http:")
    options = parse_qs(parts.query)
    every = _seconds(options.get("every", [str(EVERY[kind])])[0])
    if kind == "file":
        path = unquote(parts.path)
        if parts.netloc or not path.startswith("/"):
            raise ValueError("needs a whole path: file:///mnt/audit/gatepost.jsonl")
        return Destination(kind, f"file {path}", path, every)
    if kind == "mailto":
        to = unquote(parts.path)
        if "@" not in to:
            raise ValueError("needs an address: mailto:auditor@example.com")
        return Destination(kind, f"mail {to}", to, every)
    if not parts.hostname or parts.username or parts.password:
        raise ValueError("needs a host, and neither user nor password")
    if not _has_port(parts):
        raise ValueError("needs a port from 1 to 65535")
    name = f"{'time stamp' if stamps else 'webhook'} {parts.scheme}://{parts.netloc}"
    # Our own options are not the receiver's business; its own may be signed, so bytes stay.
    others = [p for p in parts.query.split("&") if p.partition("=")[0] not in _OPTIONS]
    address = parts._replace(query="&".join(others)).geturl()
    ca = options.get("ca", [""])[0] if stamps else ""
    return Destination("tsa" if stamps else "webhook", name, address, every, ca)


def _has_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _seconds(text: str) -> float:
    try:
        result = float(text)
    except ValueError:
        result = 0.0
    if not SHORTEST <= result <= LONGEST:
        raise ValueError(f"takes every={SHORTEST:g} to {LONGEST:g} seconds")
    return result
