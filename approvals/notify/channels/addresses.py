"""Where a webhook may go: addresses are judged after resolving, and used as they were judged.

A name is resolved once; if any address behind it lies in a network that is not the public internet,
nothing is sent. The connection takes the address from here, so a name that changes its mind
between the look and the connection (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings

from checkpoints.errors import InvalidValue

from ..texts.kinds import ADDRESS_MAX, NotDelivered

# Public by number, not by nature: metadata and wire servers of clouds, relays, embedded addresses.
_REFUSED = tuple(
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
_NAT64 = ip_network("64:ff9b::/96")
_SCHEMES = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Target:
    """An address in its parts; `path` with the query."""

    scheme: str
    host: str
    port: int
    path: str = field(repr=False)  # may hold a secret

    @property
    def shown(self) -> str:
        """The part that may be shown and logged: nothing of the path, which may hold a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == _SCHEMES[self.scheme]
        return f"{self.scheme}://{host}" + ("" if usual else f":{self.port}")


def parse(address: str, path: str = "target") -> Target:
    """The parts of a webhook's address; raises InvalidValue for one that is never called."""
    if len(address) > ADDRESS_MAX:
        raise InvalidValue(path, f"is longer than {ADDRESS_MAX} characters")
    if not (address.isascii() and address.isprintable()) or set(address) & set(' "<>\\^`{|}'):
        raise InvalidValue(
            path, "must be an address in plain ASCII, such as https://example.com/in"
        )
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise InvalidValue(path, "is no address") from None
    schemes = ["https", *(["http"] if settings.GATEPOST_WEBHOOK_HTTP else [])]
    if parts.scheme not in schemes or not parts.hostname:
        raise InvalidValue(path, f"must begin with {' or '.join(f'{s}://' for s in schemes)}")
    if parts.username is not None or parts.password is not None:
        raise InvalidValue(path, "must not carry a user or a password")
    if parts.fragment or address.endswith("#"):
        raise InvalidValue(path, "must not have a part after #")
    port = _SCHEMES[parts.scheme] if port is None else port
    if port not in settings.GATEPOST_WEBHOOK_PORTS and settings.GATEPOST_WEBHOOK_PORTS != [0]:
        known = ", ".join(map(str, settings.GATEPOST_WEBHOOK_PORTS))
        raise InvalidValue(path, f"must use one of the ports {known}")
    query = f"?{parts.query}" if parts.query else ""
    result = Target(parts.scheme, parts.hostname, port, (parts.path or "/") + query)
    if (message := _literal(result.host)) is not None:
        raise InvalidValue(path, message)
    return result


def _literal(host: str) -> str | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return None if permitted(address) else f"{host} is not an address of the public internet"


def permitted(address: IPv4Address | IPv6Address) -> bool:
    """Answer True if a message may go to this address."""
    if any(_inside(address, network) for network in settings.GATEPOST_WEBHOOK_NETWORKS):
        return True
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return permitted(address.ipv4_mapped)
        if address in _NAT64:
            return permitted(IPv4Address(int(address) & 0xFFFFFFFF))
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(
        address in network for network in _REFUSED if network.version == address.version
    )


def _inside(address: IPv4Address | IPv6Address, network: str) -> bool:
    allowed = ip_network(network)
    return address.version == allowed.version and address in allowed


def resolved(target: Target) -> str:
    """The one address to connect to; raises NotDelivered where the name leads elsewhere."""
    try:
        result = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotDelivered("The name of the endpoint cannot be resolved.") from None
    addresses = list(dict.fromkeys(str(row[4][0]) for row in result))
    for text in addresses:
        if not permitted(ip_address(text)):
            raise NotDelivered(
                "The name of the endpoint leads to an address that is not of the public internet."
            )
    if not addresses:
        raise NotDelivered("The name of the endpoint cannot be resolved.")
    return addresses[0]
