"""Canonical texts of what a commit says of its checkpoint, written straight; pure.

Each stands for a value of which the writer knows every part: ids, hashes and numbers of its own.
Looking at each part again costs a step more than all its hashes. Tests compare every text with
what `deltas.canonical` and `seals` make of the same value, which stay the only ones that readers
and verification know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any
from uuid import UUID

from checkpoints.state import deltas


def names_text(names: Sequence[str]) -> str:
    """Names of nodes as canonical JSON; a graph has few combinations of them."""
    return _names_text(tuple(names))


@lru_cache(maxsize=1024)
def _names_text(names: tuple[str, ...]) -> str:
    return deltas.canonical(list(names)).decode()


@lru_cache(maxsize=64)
def _worded(value: str) -> str:
    return deltas.canonical(value).decode()


def _quoted(value: Any) -> str:
    """An id or a hex hash, which needs no escapes, or null."""
    return "null" if value is None else f'"{value}"'


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
    """As `seals.checkpoint_seal`, for a checkpoint of this writer's own."""
    text = (
        f'gatepost-checkpoint-1{{"agent_version":"{agent_version}","branch":{branch:d},'
        f'"config_hash":{_quoted(config_hash)},"delta_hash":"{delta_hash.hex()}",'
        f'"parent":{_quoted(parent)},"schema_version":{schema_version:d},'
        f'"source":{_worded(source)},"state_hash":"{state_hash.hex()}"}}'
    )
    return sha256(text.encode()).hexdigest()


def committed_text(
    *,
    checkpoint: str,
    number: int,
    step: int,
    nodes: Sequence[str],
    following: Sequence[str],
    seal: str,
) -> bytes:
    """The data of the event `checkpoint.committed` as canonical JSON."""
    return (
        f'{{"checkpoint":"{checkpoint}","next":{names_text(following)},'
        f'"nodes":{names_text(nodes)},"number":{number:d},"seal":"{seal}","step":{step:d}}}'
    ).encode()


def started_text(
    *, agent: str, agent_version: UUID, title: str, committed: bytes, row: Mapping[str, Any]
) -> bytes:
    """The data of the event `thread.started` as canonical JSON.

    `committed` is what proves the first checkpoint, `row` what the thread's row says besides, as
    in `forked_text`.
    """
    return b'{"agent":%b,"agent_version":"%b","checkpoint":%b,"row":%b,"title":%b}' % (
        deltas.canonical(agent),
        str(agent_version).encode(),
        committed,
        deltas.canonical(dict(row)),
        deltas.canonical(title),
    )


def forked_text(
    *,
    base: UUID,
    chain: str,
    seq: int,
    last_hash: bytes,
    checkpoint: UUID,
    number: int,
    changed: Sequence[str],
    committed: bytes,
    config: Mapping[str, Any] | None,
    code: UUID | None,
    reason: str,
    row: Mapping[str, Any],
) -> bytes:
    """The data of the event `thread.forked` as canonical JSON.

    `chain`, `seq` and `last_hash` are where the base's log stood then, `checkpoint` and `number`
    where the fork leaves it.
    """
    return b"".join(
        [
            b"{" if code is None else f'{{"agent_version":"{code}",'.encode(),
            f'"base":"{base}","base_chain":"{chain}","base_checkpoint":"{checkpoint}",'
            f'"base_hash":"{last_hash.hex()}","base_number":{number:d},"base_seq":{seq:d},'
            f'"changed":{names_text(changed)},"checkpoint":'.encode(),
            committed,
            b',"config":%b' % deltas.canonical(dict(config)) if config else b"",
            b',"reason":%b,"row":%b}' % (deltas.canonical(reason), deltas.canonical(dict(row))),
        ]
    )
