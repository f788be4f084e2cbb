"""Secrets: read where they are used, recorded nowhere, masked in errors.

A secret is a variable of the worker's environment, or the file that NAME_FILE names. What a call
has read is remembered for its step: a result or an update that holds it is refused with its path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..authoring.errors import StepFailed

MASK = "***"
SHORTEST = 6  # a shorter one would be in texts by chance
# Where what is read is remembered; the step's own set while a call works.
used: ContextVar[set[str] | None] = ContextVar("gatepost_secrets", default=None)


def read_secret(name: str) -> str:
    """The value of a secret; StepFailed where there is none."""
    path = os.environ.get(f"{name}_FILE", "")
    try:
        value = Path(path).read_text() if path else os.environ.get(name, "")
    except (OSError, UnicodeDecodeError):
        raise StepFailed(f"{name}_FILE names a file that cannot be read.") from None
    if not value.strip():
        raise StepFailed(f"There is no secret {name!r}: set {name} or {name}_FILE for the worker.")
    secret = value.strip()
    if (remembered := used.get()) is not None and len(secret) >= SHORTEST:
        remembered.add(secret)
    return secret


def masked(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets."""
    # A copy: calls of other nodes may read further ones meanwhile.
    for secret in tuple(secrets):
        text = text.replace(secret, MASK)
    return text


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """A JSON value whose texts and names hold none of these secrets."""
    known = tuple(secrets)
    if not known:
        return value
    if isinstance(value, str):
        return masked(value, known)
    if isinstance(value, dict):
        return {masked(str(k), known): without_secrets(v, known) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(item, known) for item in value]
    return value


def path_of_secret(value: Any, secrets: Iterable[str], path: str = "$") -> str:
    """The JSON path of the first text or name that holds a secret; "" where none does."""
    known = tuple(secrets)
    if not known:
        return ""
    if isinstance(value, str):
        return path if any(secret in value for secret in known) else ""
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for key, item in value.items():
            at = f"{path}.{masked(str(key), known)}"
            items += [(at, key), (at, item)]
    elif isinstance(value, list | tuple):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    return next((hit for at, item in items if (hit := path_of_secret(item, known, at))), "")


def refuse_secrets(value: Any, what: str, secrets: Iterable[str]) -> None:
    """Raise StepFailed for a value that holds a secret; `what` begins the sentence."""
    if path := path_of_secret(value, secrets):
        raise StepFailed(f"{what} holds a secret at {path}: leave it out, nothing of it is kept.")
