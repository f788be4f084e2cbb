"""Credentials in data: the mode of refusal, and the registered values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

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


def _read(name: str) -> str:
    name = name.strip()
    try:
        path = os.environ.get(f"{name}_FILE", "")
        return Path(path).read_text() if path else os.environ.get(name, "")
    except (OSError, UnicodeDecodeError):
        raise Misconfigured(f"{name}_FILE", "cannot be read.") from None
