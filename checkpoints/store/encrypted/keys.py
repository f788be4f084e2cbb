"""The data keys of threads with encrypted channels: made once, read with those of their bases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.encryption.channels import ChannelCipher, new_data_key
from checkpoints.log.remains import Part
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state.encrypted import is_envelope

SQL = sql_file(__file__)
# Erasing a thread deletes its key: what it encrypted is lost in capsules as well.
ERASED_PART = Part("channel_keys", SQL.erase, SQL.count, {})


def reading_cipher(thread: UUID) -> ChannelCipher:
    """A cipher that opens the encrypted channels of a thread; nothing is written."""
    return ChannelCipher(_fetch(SQL.keys, thread))


def sealing_cipher(thread: UUID, *, workspace: UUID) -> ChannelCipher:
    """The same, which also seals: a thread without a data key gets one."""
    stored = _fetch(SQL.keys, thread)
    if thread not in dict(stored):
        _make_keys([thread], workspace)
        stored += _fetch(SQL.own, [thread])
    return ChannelCipher(stored, seals=thread)


def cipher_of_fork(thread: UUID, base: UUID, *, workspace: UUID) -> ChannelCipher:
    """A cipher of a thread that is about to be forked from `base`; it opens what that opens."""
    _make_keys([thread], workspace)
    return ChannelCipher([*_fetch(SQL.keys, base), *_fetch(SQL.own, [thread])], seals=thread)


def ciphers_of_new_threads(
    threads: Sequence[UUID], *, workspace: UUID
) -> dict[UUID, ChannelCipher]:
    """Ciphers of threads that are about to be started, by their ids."""
    _make_keys(threads, workspace)
    stored = _fetch(SQL.own, list(threads))
    return {thread: ChannelCipher([(thread, key)], seals=thread) for thread, key in stored}


def opened(thread: UUID, state: dict[str, Any]) -> dict[str, Any]:
    """A state of a thread with plain values; raises CannotDecrypt."""
    sealed = [channel for channel, value in state.items() if is_envelope(value)]
    if not sealed:
        return state
    cipher = reading_cipher(thread)
    return {**state, **{channel: cipher.open(channel, state[channel]) for channel in sealed}}


def _make_keys(threads: Sequence[UUID], workspace: UUID) -> None:
    """Give each of these threads a data key, unless it has one."""
    keys = [new_data_key(thread) for thread in threads]
    with connection.cursor() as cursor:
        cursor.execute(SQL.insert, (workspace, list(threads), [key.stored for key in keys]))


def _fetch(statement: str, param: Any) -> list[tuple[UUID, str]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, (param,))
        return [(ident, key) for ident, key in cursor.fetchall()]
