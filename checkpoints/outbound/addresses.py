"""Which addresses a call may go to, where an admin or another person of a workspace names it.

One rule for webhooks, push services and MCP servers: the public internet, and beyond it only the
networks that a setting lists. It is asked when an address is saved, and again for each connection,
with what the name leads to by then; the connection takes the address that was judged, so a name
that changes its mind between the look and the connection (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

# Public by number, not by nature: metadata and wire servers of clouds, relays, embedded addresses.
_REFUSED: Final = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2002::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)
_NAT64: Final = ip_network("64:ff9b::/96")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
# What resolvers read as a number in some base: 2130706433, 0x7f.1, 0177.0.0.1, 127.1.
_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]*|[0-9]+)")


class NotCalled(Exception):
    """A name is not called; the text ends a sentence about it."""


def permitted(address: IPv4Address | IPv6Address, networks: Sequence[str]) -> bool:
    """Answer True if a call may go to this address."""
    if is_listed(address, networks):
        return True
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return permitted(address.ipv4_mapped, networks)
        if address in _NAT64:
            return permitted(IPv4Address(int(address) & 0xFFFFFFFF), networks)
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(
        address in network for network in _REFUSED if network.version == address.version
    )


def is_listed(address: IPv4Address | IPv6Address, networks: Sequence[str]) -> bool:
    """Answer True if the address lies in one of the networks of a setting."""
    return any(
        address.version == network.version and address in network
        for network in map(ip_network, networks)
    )


def problem_of(host: str, networks: Sequence[str]) -> str:
    """Reason that a host can't be called, as far as its text says so; "" where nothing is wrong."""
    try:
        address = ip_address(host)
    except ValueError:
        pass
    else:
        good = permitted(address, networks)
        return "" if good else f"{host} is not an address of the public internet"
    bare = host.rstrip(".").lower()
    if not _NAME.fullmatch(host) or len(host) > 253:
        return "must name a host in plain ASCII letters, digits, dots and hyphens"
    if _NUMBER.fullmatch(bare.rpartition(".")[2]):
        return f"{host} is a number, and no address: write it with four parts"
    local = bare == "localhost" or bare.endswith(".localhost")
    if local and not is_listed(IPv4Address("127.0.0.1"), networks):
        return f"{host} is this machine, and not an address of the public internet"
    return ""


def resolved(
    host: str, port: int, networks: Sequence[str], *, only_listed: bool = False, what: str = "host"
) -> str:
    """The one address to connect to; raises NotCalled.

    If any address behind the name is refused, so is the name. `only_listed`: the setting's networks
    alone, for calls without encryption.
    """
    try:
        result = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotCalled(f"The name of the {what} cannot be resolved.") from None
    addresses = list(dict.fromkeys(str(row[4][0]) for row in result))
    for address in map(ip_address, addresses):
        if not permitted(address, networks):
            raise NotCalled(
                f"The name of the {what} leads to an address that is not of the public internet."
            )
        if only_listed and not is_listed(address, networks):
            raise NotCalled(f"The {what} is not called without encryption: write https://.")
    if not addresses:
        raise NotCalled(f"The name of the {what} cannot be resolved.")
    return addresses[0]
