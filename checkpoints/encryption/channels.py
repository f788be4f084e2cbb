"""Encrypted channels of a state: sealed under a key of their thread, which is stored encrypted.

A checkpoint is hashed and never changes, so a rotation cannot encrypt its values anew. They are
encrypted under a data key of the thread that wrote them; that key is one encrypted column
(`CHANNEL_KEY`), which `encryption rotate` encrypts under the newest key. A thread reads with its
own data key and with those of the threads that it was forked from. Thread and channel are
authenticated, so a ciphertext that is moved to another thread or channel opens nowhere.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from ..errors import CannotDecrypt
from ..state.encrypted import CIPHERTEXT, ENCRYPTED, FINGERPRINT, refuse_files
from ..state.stored import decode
from ..state.values import at, canonical
from .ciphertext import NONCE_BYTES
from .columns import EncryptedColumn, register
from .keys import IDENT_CHARS, KEY_BYTES

CHANNEL_KEY: Final = EncryptedColumn("gp_channel_key", "key", recorded=False)


def register_columns() -> None:
    """Let `encryption rotate` know the column of the data keys."""
    register(CHANNEL_KEY)


@dataclass(frozen=True)
class DataKey:
    """The key of the channels of one thread; `ident` names it in what it encrypted."""

    thread: UUID
    raw: bytes = field(repr=False)

    @cached_property
    def ident(self) -> str:
        """A name that reveals nothing of the key."""
        return sha256(b"gatepost-channel-key-1|" + self.raw).hexdigest()[:IDENT_CHARS]

    def location(self, channel: str) -> bytes:
        """The name of thread and channel, which is authenticated with each value."""
        return f"gatepost-channel-1|{self.thread}|{channel}".encode()

    @property
    def stored(self) -> str:
        """The key as its column holds it: encrypted under the newest key of the installation."""
        return CHANNEL_KEY.encrypt(base64.urlsafe_b64encode(self.raw).decode(), self.thread)


def new_data_key(thread: UUID) -> DataKey:
    """A new random key for a thread."""
    return DataKey(thread, os.urandom(KEY_BYTES))


class ChannelCipher:
    """Seals and opens the encrypted channels of one thread.

    `stored` are (thread, key as stored) of the thread and of those it was forked from; `seals` is
    the one whose key seals. A key that cannot be read is an error once a value needs it.
    """

    def __init__(self, stored: Iterable[tuple[UUID, str]], seals: UUID | None = None) -> None:
        self._keys: dict[str, DataKey] = {}
        self._own: DataKey | None = None
        self._unreadable = ""
        for thread, text in stored:
            try:
                key = DataKey(thread, base64.urlsafe_b64decode(CHANNEL_KEY.decrypt(text, thread)))
            except CannotDecrypt as error:
                self._unreadable = error.message
                continue
            self._keys[key.ident] = key
            if thread == seals:
                self._own = key

    def seal(self, channel: str, value: Any) -> dict[str, str]:
        """The value as it is stored; raises InvalidValue for what cannot be encrypted."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 30 ms: not with each start

        refuse_files(value, at("$", channel))
        key, nonce = self._sealing(), os.urandom(NONCE_BYTES)
        raw = nonce + AESGCM(key.raw).encrypt(nonce, canonical(value), key.location(channel))
        payload = base64.urlsafe_b64encode(raw).decode()
        return {ENCRYPTED: f"{CIPHERTEXT}{key.ident}.{payload}"}

    def open(self, channel: str, envelope: Any) -> Any:
        """The value again; raises CannotDecrypt, which names the channel and why."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        text = str(envelope[ENCRYPTED])
        ident, _, payload = text.removeprefix(CIPHERTEXT).partition(".")
        key = self._keys.get(ident)
        if key is None or not text.startswith(CIPHERTEXT):
            why = self._unreadable or (
                "Its key is not here: it was erased or lost, or the value is of another thread or "
                "installation."
            )
            raise CannotDecrypt(f"The channel {channel!r} cannot be decrypted. {why}")
        try:
            raw = base64.urlsafe_b64decode(payload)
            nonce, body = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
            return decode(AESGCM(key.raw).decrypt(nonce, body, key.location(channel)))
        except (InvalidTag, binascii.Error, ValueError):
            raise CannotDecrypt(
                f"The channel {channel!r} cannot be decrypted. Its value was altered, or belongs "
                "to another thread or channel."
            ) from None

    def fingerprint(self, channel: str, value: Any) -> dict[str, str]:
        """A stand-in for a value that is only compared; equal for equal values."""
        key = self._sealing()
        text = key.location(channel) + b"|" + canonical(value)
        digest = hmac.new(key.raw, b"gatepost-fingerprint-1|" + text, sha256).hexdigest()
        return {ENCRYPTED: f"{FINGERPRINT}{key.ident}.{digest}"}

    def _sealing(self) -> DataKey:
        if self._own is None:
            raise CannotDecrypt(self._unreadable or "The thread has no key for its channels.")
        return self._own
