"""Which address a request comes from: the sender's, or what a proxy of ours says of it."""

from __future__ import annotations

import ipaddress
from typing import Final

from django.conf import settings
from django.http import HttpRequest

LOOPBACK: Final = "127.0.0.1"
IPV6_PREFIX: Final = 64  # what one household or machine is given; each address of it is its own


def client_address(request: HttpRequest) -> str:
    """The sender's address; X-Forwarded-For counts as far as our proxies wrote it.

    It is read from its end: the nearest proxy wrote last, and what comes before the first address
    that is no proxy of ours is the sender's own invention.
    """
    peer = request.META.get("REMOTE_ADDR", "") or LOOPBACK  # a socket of this machine has none
    if str(request.META.get("REMOTE_PORT", "")) == "0":
        peer = LOOPBACK  # uvicorn has put in what a header said; it does so for this machine only
    if not _trusted(peer):
        return peer
    for word in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
        address = word.strip()
        if not address or _parsed(address) is None:
            break
        if not _trusted(address):
            return address
        peer = address
    return peer


def limited_as(address: str) -> str:
    """The key of limits per address: for IPv6 the network that one sender has."""
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, IPV6_PREFIX), strict=False))
    return address


def _trusted(address: str) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(
        parsed in ipaddress.ip_network(network) for network in settings.GATEPOST_TRUSTED_PROXIES
    )


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None
