"""Where a webhook may go: its form, and the one rule for addresses with its own settings.

The rule itself, for the time of saving and of calling: checkpoints.outbound.addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from django.conf import settings

from checkpoints.errors import InvalidValue
from checkpoints.outbound import addresses as rule

from ..texts.kinds import ADDRESS_MAX, NotDelivered

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
        raise InvalidValue(path, "is not an address") from None
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
    if message := rule.problem_of(result.host, settings.GATEPOST_WEBHOOK_NETWORKS):
        raise InvalidValue(path, message)
    return result


def refusal(kind: str, shown: str) -> str:
    """Reason that an endpoint is not called by today's settings; "" for none.

    `shown`: the part of its address that may be shown.
    """
    if kind != "webhook":
        return ""
    try:
        parse(shown)
    except InvalidValue as error:
        return f"It is not called: its address {error.reason}."
    return ""


def permitted(address: IPv4Address | IPv6Address) -> bool:
    """Answer True if a message may go to this address."""
    return rule.permitted(address, settings.GATEPOST_WEBHOOK_NETWORKS)


def resolved(target: Target) -> str:
    """The one address to connect to; raises NotDelivered where the name leads elsewhere."""
    networks = settings.GATEPOST_WEBHOOK_NETWORKS
    try:
        return rule.resolved(target.host, target.port, networks, what="endpoint")
    except rule.NotCalled as error:
        raise NotDelivered(str(error)) from None
