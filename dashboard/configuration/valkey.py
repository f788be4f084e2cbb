"""Valkey: doorbells and hints, never the truth; another server keeps what hot agents buffer.

One address each, spelled for each library that asks:

redis://user:password@host:6379/0            rediss:// the same with TLS, the certificate checked
rediss://host/0?ssl_ca_certs=/path/ca.pem    also ssl_certfile, ssl_keyfile
unix:///path/valkey.sock                     a socket of this machine
sentinel://:password@h1:26379,h2/NAME/0      whichever server the sentinels call the master NAME
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from .sources import Misconfigured, value

EXAMPLE = "redis://user:password@host:6379/0"
SCHEMES = ("redis", "rediss", "unix", "sentinel")
TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
PORT, SENTINEL_PORT = 6379, 26379


@dataclass(frozen=True)
class Address:
    """A checked address; `hosts` are servers, or sentinels where there is a `master`."""

    scheme: str
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    number: int = 0
    master: str = ""
    tls: dict[str, str] = field(default_factory=dict)

    @property
    def login(self) -> str:
        """`user:password@` for an address, or nothing."""
        if not (self.username or self.password):
            return ""
        return f"{quote(self.username, safe='')}:{quote(self.password, safe='')}@"

    def celery(self) -> dict[str, Any]:
        """Settings of Celery (without their prefix) for this broker."""
        # A request that rings the doorbell must not wait for a Valkey that is away; the sweep
        # rings later. Without the last three kombu tries for 6 s, whatever `retry` says.
        transport: dict[str, Any] = {
            "socket_connect_timeout": 1,
            "socket_timeout": 10,
            "max_retries": 1,
            "interval_start": 0,
            "interval_max": 0,
            # What is on its way is counted by the worker alone. Noting it in the broker as well
            # takes two transactions a message, for messages whose loss is harmless.
            "ack_emulation": False,
        }
        results: dict[str, Any] = {"BROKER_TRANSPORT_OPTIONS": transport}
        if self.scheme == "unix":
            at = f"{self.login}{self.path}?virtual_host={self.number}"
            return results | {"BROKER_URL": f"redis+socket://{at}"}
        scheme = "sentinel" if self.master else "redis"
        urls = [f"{scheme}://{self.login}{_host(h)}:{p}/{self.number}" for h, p in self.hosts]
        if self.master:
            transport["master_name"] = self.master
        if self.scheme == "rediss":
            # Said outright: an address alone would make kombu take any certificate.
            results["BROKER_USE_SSL"] = {"ssl_cert_reqs": "required"} | self.tls
        return results | {"BROKER_URL": ";".join(urls)}

    def url(self) -> str:
        """As the client library reads it; not for sentinels."""
        if self.scheme == "unix":
            return f"unix://{self.login}{self.path}?db={self.number}"
        ((host, port),) = self.hosts
        text = "&".join(f"{k}={quote(v, safe='/')}" for k, v in self.tls.items())
        base = f"{self.scheme}://{self.login}{_host(host)}:{port}/{self.number}"
        return f"{base}?{text}" if text else base


def _host(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def parse(url: str, *, name: str = "REDIS_URL") -> Address:
    """Read an address; raises Misconfigured, which never repeats it."""
    escapes = "special characters in user and password are written as %XX"
    wrong = Misconfigured(name, f"cannot be read: write {EXAMPLE}; {escapes}.")
    try:
        split = urlsplit(url.strip())
        request = dict(parse_qsl(split.query, strict_parsing=True)) if split.query else {}
    except ValueError:
        raise wrong from None
    if split.scheme not in SCHEMES:
        known = ", ".join(f"{s}://" for s in SCHEMES)
        raise Misconfigured(name, f"is not an address of Valkey: it begins with one of {known}.")
    if split.fragment:
        raise wrong
    login, _, netloc = split.netloc.rpartition("@")
    user, _, password = login.partition(":")
    steps = unquote(split.path).strip("/").split("/") if split.scheme != "unix" else []
    known_options = {"unix": ("db",), "rediss": TLS}.get(split.scheme, ())
    unknown = sorted(set(request) - set(known_options))
    if unknown:
        raise Misconfigured(name, f"has the unknown option {unknown[0][:40]!r}.")
    master = ""
    if split.scheme == "sentinel":
        master = steps.pop(0)
        if not master:
            raise Misconfigured(name, "names no master: write sentinel://host:26379/NAME/0.")
    number = request.get("db", "") if split.scheme == "unix" else "/".join(steps)
    if number and not (number.isascii() and number.isdigit()):
        raise wrong
    if split.scheme == "unix" and (netloc or not split.path.strip("/")):
        raise Misconfigured(name, "names no socket: write unix:///path/valkey.sock.")
    hosts = () if split.scheme == "unix" else _hosts(netloc, bool(master), wrong)
    if len(hosts) > 1 and not master:
        raise Misconfigured(
            name,
            "lists several servers: give one address that follows the master, or sentinel://.",
        )
    return Address(
        split.scheme,
        hosts,
        unquote(split.path) if split.scheme == "unix" else "",
        unquote(user),
        unquote(password),
        int(number or 0),
        master,
        {key: request[key] for key in TLS if key in request},
    )


def _hosts(netloc: str, sentinels: bool, wrong: Misconfigured) -> tuple[tuple[str, int], ...]:
    results = []
    for part in netloc.split(","):
        try:
            one = urlsplit(f"//{part}")
            host, port = one.hostname, one.port
        except ValueError:
            raise wrong from None
        if not host:
            raise wrong
        results.append((host, port or (SENTINEL_PORT if sentinels else PORT)))
    return tuple(results)


def configured(embedded: str) -> str:
    """REDIS_URL, checked, with REDIS_PASSWORD in it; without one the embedded server's socket."""
    return _with_password(value("REDIS_URL"), value("REDIS_PASSWORD"), "REDIS", embedded)


def configured_hot_store(embedded: str) -> str:
    """The same of GATEPOST_HOT_URL and GATEPOST_HOT_PASSWORD; refused where it promises less.

    A replica that takes over lacks what its master acknowledged last. The broker's server stops
    with a full hot store.
    """
    url, password = value("GATEPOST_HOT_URL"), value("GATEPOST_HOT_PASSWORD")
    result = _with_password(url, password, "GATEPOST_HOT", embedded)
    if not url.strip():
        return result
    address = parse(url, name="GATEPOST_HOT_URL")
    if address.master:
        raise Misconfigured(
            "GATEPOST_HOT_URL",
            "can't be sentinel://: a replica that takes over lacks the last appends.",
        )
    broker = value("REDIS_URL").strip()
    other = parse(broker) if broker else None
    if other and (other.hosts, other.path) == (address.hosts, address.path):
        raise Misconfigured(
            "GATEPOST_HOT_URL",
            "names the server of REDIS_URL: full, it would stop the broker. Start a second one.",
        )
    return result


def _with_password(url: str, password: str, name: str, embedded: str) -> str:
    url = url.strip()
    if not url:
        return f"unix://{quote(embedded)}"
    address = parse(url, name=f"{name}_URL")
    if not password:
        return url
    if address.password:
        raise Misconfigured(f"{name}_PASSWORD", f"is set, and {name}_URL has a password as well.")
    scheme, _, rest = url.partition("://")
    login, at, server = rest.partition("@")
    user = login if at else ""
    return f"{scheme}://{user.rstrip(':')}:{quote(password, safe='')}@{server if at else rest}"
