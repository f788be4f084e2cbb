"""Credentials in data: the mode of refusal, and the registered values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from checkpoints.outbound.bound_secrets import NAME, Lists, place_of
from checkpoints.outbound.own_secrets import is_own
from checkpoints.state import credentials

from .sources import Misconfigured

MODES = ("refuse", "off")


def mode(text: str) -> str:
    """GATEPOST_CREDENTIALS, checked."""
    if text not in MODES:
        raise Misconfigured("GATEPOST_CREDENTIALS", f"is one of {', '.join(MODES)}.")
    return text


def registered(names: Iterable[str], own: Iterable[str]) -> tuple[str, ...]:
    """The values of these variables (or of the files that NAME_FILE names), and Gatepost's own.

    One that is short or made of few characters is left out: texts have it by chance. A variable
    that another process has is none here.
    """
    return credentials.registrable([*own, *map(_read, names)])


def of_workspaces() -> Lists:
    """GATEPOST_WORKSPACE_SECRETS, or the file that it names with _FILE; raises Misconfigured."""
    text = _read(NAME)
    if not text.strip():
        return {}
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise Misconfigured(NAME, f"is not JSON: {error}.") from None
    if not isinstance(raw, dict) or not all(isinstance(one, dict) for one in raw.values()):
        raise Misconfigured(NAME, 'reads {"workspace": {"GATEPOST_SECRET_NAME": ["host"]}}.')
    return {
        workspace: {name: _places(name, places) for name, places in secrets.items()}
        for workspace, secrets in raw.items()
    }


def _places(name: str, places: object) -> frozenset[str]:
    if not name.startswith("GATEPOST_SECRET_") or is_own(name):
        raise Misconfigured(NAME, f"lists {name}, which is not a name below GATEPOST_SECRET_.")
    if not isinstance(places, list) or not all(isinstance(one, str) for one in places):
        raise Misconfigured(NAME, f"{name}: takes a list of hosts.")
    try:
        return frozenset(map(place_of, places))
    except ValueError as error:
        raise Misconfigured(NAME, f"{name}: one of its places {error}.") from None


def _read(name: str) -> str:
    name = name.strip()
    try:
        path = os.environ.get(f"{name}_FILE", "")
        return Path(path).read_text() if path else os.environ.get(name, "")
    except (OSError, UnicodeDecodeError):
        raise Misconfigured(f"{name}_FILE", "cannot be read.") from None
