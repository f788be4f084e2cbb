"""Secrets: read where they are used, recorded nowhere, masked in errors.

A secret is a variable of the worker's environment, or the file that NAME_FILE names; Gatepost's own
settings are none (checkpoints.outbound.own_secrets). What a call has read is remembered for its
step: a result or an update that holds it is refused with its path, as is what looks like a
credential (checkpoints.state.credentials) or is registered (GATEPOST_SECRET_NAMES). An agent lets a
path through with a reason: Graph(secrets_allowed=).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from checkpoints.outbound.own_secrets import is_own
from checkpoints.state import credentials

from ..authoring.errors import StepFailed

MASK = credentials.MASK
SHORTEST = 6  # a shorter one would be in texts by chance
# Where what is read is remembered; the step's own set while a call works.
used: ContextVar[set[str] | None] = ContextVar("gatepost_secrets", default=None)


def read_secret(name: str) -> str:
    """The value of a secret; StepFailed where there is none, and for one of Gatepost's own."""
    if is_own(name):
        raise StepFailed(f"{name!r} is a setting of Gatepost itself, which no call gets.")
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
    """A text without these secrets, registered ones, and what looks like a credential."""
    # A copy: calls of other nodes may read further ones meanwhile.
    for secret in tuple(secrets):
        text = text.replace(secret, MASK)
    return credentials.masked(text, _policy()[1])


def _policy() -> tuple[bool, Collection[str]]:
    """(refuse credentials, registered values); a play without settings of Gatepost has these."""
    try:
        return settings.GATEPOST_CREDENTIALS == "refuse", settings.GATEPOST_SECRET_VALUES
    except (AttributeError, ImproperlyConfigured):
        return True, ()


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """A JSON value whose texts and names hold none of these secrets."""
    known = tuple(secrets)
    if not known:
        return value
    if isinstance(value, str):
        return _without(value, known)
    if isinstance(value, dict):
        return {_without(str(k), known): without_secrets(v, known) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(item, known) for item in value]
    return value


def _without(text: str, known: tuple[str, ...]) -> str:
    for secret in known:
        text = text.replace(secret, MASK)
    return text


def path_of_secret(value: Any, secrets: Iterable[str]) -> str:
    """The JSON path of the first text or name that holds one of these; "" where none does."""
    known = tuple(secrets)
    if not known:
        return ""
    hit = credentials.find_values(value, known)
    return hit.path if hit else ""


def what_is_secret(
    value: Any, secrets: Iterable[str] = (), exempt: Collection[str] = (), of: str = ""
) -> str:
    """Name what a value must not have, with its path; "" where all is well.

    `of` names the call whose arguments or result it is: `exempt` paths of those begin with it.
    """
    if path := path_of_secret(value, secrets):
        return f"a secret at {path}"
    refuse, registered = _policy()
    if not refuse:
        return ""
    here = [one.removeprefix(f"{of}:") for one in exempt if of == "" or one.startswith(f"{of}:")]
    hit = credentials.find(value, registered=registered, exempt=here)
    return f"{hit.what} at {hit.path}" if hit else ""


def refuse_secrets(
    value: Any, what: str, secrets: Iterable[str], exempt: Collection[str] = (), of: str = ""
) -> None:
    """Raise StepFailed for a value that holds a secret; `what` begins the sentence."""
    if why := what_is_secret(value, secrets, exempt, of):
        raise StepFailed(f"{what} holds {why}: leave it out, nothing of it is kept.")
