"""Channels stored as ciphertext: how they are declared, and the form of a stored value; pure.

A stored value is `{"$encrypted": "ch1.KEY.PAYLOAD"}`. Everything that only stores, hashes, compares
or shows states treats it as any other JSON. `checkpoints.encryption.channels` seals and opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidValue
from .values import at

ENCRYPTED: Final = "$encrypted"
CIPHERTEXT: Final = "ch1."
FINGERPRINT: Final = "mac1."
_FILE: Final = "$artifact"


@dataclass(frozen=True, slots=True)
class Encrypted:
    """Declares a channel whose values are stored as ciphertext; `readers` are roles.

    notes: Annotated[str, Encrypted(readers=("auditor", "admin"))] = ""
    """

    readers: tuple[str, ...]


def readers_of(channels: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """{channel: roles that may read it} of the encrypted ones in AgentVersion.channels.

    A capsule may bring a version of anybody's making: what is no list of names counts for nothing.
    """
    named = {
        name: spec["encrypted"]
        for name, spec in channels.items()
        if isinstance(spec, Mapping) and spec.get("encrypted")
    }
    return {
        name: tuple(readers)
        for name, readers in named.items()
        if isinstance(readers, list) and all(isinstance(role, str) for role in readers)
    }


def is_envelope(value: Any) -> bool:
    """Return whether a value is what stands in the place of an encrypted one."""
    return (
        isinstance(value, Mapping)
        and value.keys() == {ENCRYPTED}
        and isinstance(text := value[ENCRYPTED], str)
        and text.startswith((CIPHERTEXT, FINGERPRINT))
    )


def refuse_files(value: Any, path: str) -> None:
    """Raise InvalidValue where a value names a file: its bytes would stay as they are."""
    if isinstance(value, Mapping):
        if _FILE in value:
            raise InvalidValue(
                path, "names a file, whose bytes are not encrypted: use another channel for it"
            )
        for key, item in value.items():
            refuse_files(item, at(path, str(key)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            refuse_files(item, at(path, index))
