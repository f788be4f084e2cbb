"""Which addresses a call may go to, by who names them.

What people of a workspace name (webhooks, push services, MCP servers) leads to the public internet,
and beyond it only into networks that a setting lists. A host that the settings name (models, the
collector of spans, the sign-in's provider) may be in a private network as well. The rule is asked
when an address is saved, and again for each connection, with what the name leads to by then; the
connection takes an address that was judged, so a name that changes its mind between the look and
the connection (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

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
# They hand out credentials of the machine. A network that is listed does not include them.
METADATA: Final = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "fd00:ec2::254"),
    )
)
# Private networks, for hosts that the settings name.
OF_SETTINGS: Final = (
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    *("::1/128", "fc00::/7"),
)
ADDRESSES_MAX: Final = 4
_NAT64: Final = ip_network("64:ff9b::/96")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
# What resolvers read as a number in some base: 2130706433, 0x7f.1, 0177.0.0.1, 127.1.
_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]*|[0-9]+)")


class NotCalled(Exception):
    """A name is not called; the text ends a sentence about it."""


class NotResolved(NotCalled):
    """A name leads nowhere at this moment."""


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
    """Answer True if the address lies in one of the networks of a setting.

    A metadata server is listed by its own address only.
    """
    return any(
        address.version == network.version
        and address in network
        and (address not in METADATA or network.num_addresses == 1)
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
        return "" if good else f"{host} is not an address {_scope(networks)}"
    bare = host.rstrip(".").lower()
    if not _NAME.fullmatch(host) or len(host) > 253:
        return "must name a host in plain ASCII letters, digits, dots and hyphens"
    if _NUMBER.fullmatch(bare.rpartition(".")[2]):
        return f"{host} is a number, and no address: write it with four parts"
    local = bare == "localhost" or bare.endswith(".localhost")
    if local and not is_listed(IPv4Address("127.0.0.1"), networks):
        return f"{host} is this machine, and not an address {_scope(networks)}"
    return ""


def problem_of_setting(url: str) -> str:
    """Reason that an address which the settings name is not called; "" where its text is sound."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        return "must be http:// or https://, with a host"
    if "@" in parts.netloc:
        return "must not carry a user or a password"
    return problem_of(parts.hostname or "", OF_SETTINGS)


def allowed(
    host: str, port: int, networks: Sequence[str], *, only_listed: bool = False, what: str = "host"
) -> list[str]:
    """The first ADDRESSES_MAX addresses to connect to, in the resolver's order; raises NotCalled.

    If any address behind the name is refused, so is the name. `only_listed`: the setting's networks
    alone, for calls without encryption.
    """
    try:
        result = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotResolved(f"The name of the {what} cannot be resolved.") from None
    addresses = list(dict.fromkeys(str(row[4][0]) for row in result))
    for address in map(ip_address, addresses):
        if not permitted(address, networks):
            raise NotCalled(
                f"The name of the {what} leads to an address that is not {_scope(networks)}."
            )
        if only_listed and not is_listed(address, networks):
            raise NotCalled(f"The {what} is not called without encryption: write https://.")
    if not addresses:
        raise NotResolved(f"The name of the {what} cannot be resolved.")
    # What a resolver reads as an address and people don't: 127.1, 0x7f000001.
    if problem := problem_of(host, networks):
        raise NotCalled(f"The address of the {what} is not called: {problem}.")
    return addresses[:ADDRESSES_MAX]


def resolved(host: str, port: int, networks: Sequence[str], *, what: str = "host") -> str:
    """The one address to connect to, as `allowed`."""
    return allowed(host, port, networks, what=what)[0]


def _scope(networks: Sequence[str]) -> str:
    is_private = " or a private network" if networks is OF_SETTINGS else ""
    return f"of the public internet{is_private}"
