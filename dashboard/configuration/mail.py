"""The mail server from EMAIL_URL, and what messages to the outside are held to by default."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from .sources import Misconfigured

# About a day: 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h, 8 h.
PAUSES: Final = [5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0, 28800.0]
# Services with one public host each: an address cannot lead into the own network.
CHATS: Final = ["slack", "discord", "msteams", "tgram", "gchat", "pagerduty"]


def mailers(url: str, *, seconds: float) -> dict[str, Any]:
    """Django's MAILERS; one that sends nothing where no server is named. Raises Misconfigured."""
    if not url:
        return {"default": {"BACKEND": "django.core.mail.backends.dummy.EmailBackend"}}
    try:
        payload = environ.Env.email_url_config(url)
    except (ImproperlyConfigured, ValueError):
        raise Misconfigured("EMAIL_URL", "must read smtp://user:password@host:port.") from None
    backend = payload["EMAIL_BACKEND"]
    if not backend.endswith("smtp.EmailBackend"):
        return {"default": {"BACKEND": backend} | _folder(backend, payload)}
    if not payload["EMAIL_HOST"]:
        raise Misconfigured("EMAIL_URL", "names no host.")
    options = {
        "host": payload["EMAIL_HOST"],
        "port": payload["EMAIL_PORT"],
        "username": payload["EMAIL_HOST_USER"] or "",
        "password": payload["EMAIL_HOST_PASSWORD"] or "",
        "use_tls": bool(payload.get("EMAIL_USE_TLS", False)),
        "use_ssl": bool(payload.get("EMAIL_USE_SSL", False)),
        "timeout": seconds,
    }
    return {"default": {"BACKEND": backend, "OPTIONS": options}}


def password(url: str) -> str:
    """The password in EMAIL_URL, "" where there is none."""
    return unquote(urlsplit(url).password or "")


def _folder(backend: str, payload: dict[str, Any]) -> dict[str, Any]:
    if not backend.endswith("filebased.EmailBackend"):
        return {}
    return {"OPTIONS": {"file_path": payload["EMAIL_FILE_PATH"]}}


def networks(values: list[str], *, name: str = "GATEPOST_WEBHOOK_NETWORKS") -> list[str]:
    """A list of networks as it is; raises Misconfigured for what is no network."""
    try:
        return [str(ip_network(text.strip())) for text in values]
    except ValueError as error:
        raise Misconfigured(name, f"holds no network: {error}.") from None
