"""Encrypted channels of a state, and the roles that may read each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.state.encrypted import is_envelope, readers_of
from dashboard.identity.permissions import either


@dataclass(frozen=True, slots=True)
class EncryptedChannel:
    """A channel that is encrypted at a checkpoint, and the roles that may read it."""

    name: str
    readers: tuple[str, ...]

    @property
    def words(self) -> str:
        """The roles that may read it, as the end of a sentence."""
        return f"readable by {either(self.readers).replace(' or ', ' and ')}"

    def is_readable(self, roles: frozenset[str]) -> bool:
        """Return whether one of these roles may read it."""
        return not roles.isdisjoint(self.readers)


def encrypted_channels(channels: dict[str, Any], state: dict[str, Any]) -> list[EncryptedChannel]:
    """Those of a state that are ciphertext; `channels` as the agent version declares them."""
    declared = readers_of(channels)
    names = [name for name, value in state.items() if name in declared and is_envelope(value)]
    return [EncryptedChannel(name, declared[name]) for name in names]
