"""What an event binds of the row that it names, so that the chain covers each of its columns; pure.

Content stands beside a salt and enters by its hash only: it can be erased together with the salt,
and what remains of the row still fits its seal.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

from ..state import deltas
from ..tables.columns import ACTIVITY

# Of the events by which a lease is taken: since 2 each cursor that its holder keeps is an event.
LEASE_V = 2


def seal(kind: str, values: Mapping[str, Any]) -> str:
    """Hex sha256 over the named values of a row of this kind; UUIDs as text, bytes as hex."""
    return _seal_of(kind, {name: _plain(value) for name, value in values.items()})


def _seal_of(kind: str, plain: Mapping[str, Any]) -> str:
    return sha256(f"gatepost-{kind}-1".encode() + deltas.canonical(plain)).hexdigest()


def checkpoint_seal(
    *,
    branch: int,
    parent: UUID | None,
    source: str,
    delta_hash: bytes,
    state_hash: bytes,
    schema_version: int,
    agent_version: UUID,
    config_hash: str | None,
) -> str:
    """Seal the columns of a checkpoint that its event does not name itself."""
    return _seal_of(
        "checkpoint",
        {
            "branch": branch,
            "parent": None if parent is None else str(parent),
            "source": source,
            "delta_hash": delta_hash.hex(),
            "state_hash": state_hash.hex(),
            "schema_version": schema_version,
            "agent_version": str(agent_version),
            "config_hash": config_hash,
        },
    )


def activity_seal(row: Mapping[str, Any]) -> str:
    """Seal the columns of an activity as they are after that event."""
    return seal("activity", {name: row[name] for name in ACTIVITY.sealed})


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    return value
