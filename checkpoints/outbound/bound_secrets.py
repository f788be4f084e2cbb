"""Secrets that admins may choose from: a list for each workspace, each bound to its places.

The operator of the installation writes it (GATEPOST_WORKSPACE_SECRETS). It holds names, no secrets:

    {"default": {"GATEPOST_SECRET_GITHUB": ["api.githubcopilot.com"],
                 "GATEPOST_SECRET_FILES": ["http://files.internal:*", "command:npx"]}}

A place is a host (by TLS, port 443), host:port, http://host:port, or command:PROGRAM; the port `*`
stands for any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

type Lists = Mapping[str, Mapping[str, frozenset[str]]]

NAME: Final = "GATEPOST_WORKSPACE_SECRETS"
_PORTS: Final = {"https": "443", "http": "80"}
_COMMAND: Final = "command:"


def place_of(text: str) -> str:
    """A place as lists and servers are compared: scheme://host:port or command:PROGRAM.

    Raises ValueError.
    """
    if text.startswith(_COMMAND):
        if not text.removeprefix(_COMMAND).strip():
            raise ValueError("names no program")
        return text
    parts = urlsplit(text if "://" in text else f"https://{text}")
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host or "@" in parts.netloc or "*" in host:
        raise ValueError("is not a host")
    port = "*" if parts.netloc.endswith(":*") else str(parts.port or _PORTS[parts.scheme])
    return f"{parts.scheme}://{host}:{port}"


def names_of(workspace: str) -> list[str]:
    """The secrets that an admin of this workspace may choose."""
    return sorted(_lists().get(workspace, {}))


def refusal(name: str, workspace: str, target: str) -> str:
    """Reason that the secret does not go there, to end a sentence about it; "" where it may.

    `target` as `place_of` writes it.
    """
    places = _lists().get(workspace, {}).get(name)
    if places is None:
        return f"is not a secret of this workspace: it is not listed in {NAME}"
    any_port = f"{target.rpartition(':')[0]}:*"
    if target in places or (not target.startswith(_COMMAND) and any_port in places):
        return ""
    return f"may not go to {target}: it is not listed for that in {NAME}"


def _lists() -> Lists:
    lists: Lists = settings.GATEPOST_WORKSPACE_SECRETS
    return lists
