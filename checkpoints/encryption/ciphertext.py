"""Text in, ciphertext out, and back: AES-256-GCM, bound to the place where it is stored.

A ciphertext reads `enc1.KEY.PAYLOAD`: the name of its key, and base64url of 12 random bytes and
what AES-GCM made. The place (table, row, column) is authenticated with it, so one that is copied
into another row cannot be decrypted there. Text that does not begin with `enc1.` was stored before
there was encryption; it is returned as it is, and `encryption rotate` encrypts it.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Final

from checkpoints.errors import CannotDecrypt

from .keys import key_ring

PREFIX: Final = "enc1."
NONCE_BYTES: Final = 12


def location_of(table: str, ident: object, column: str) -> str:
    """The name of the place of a value."""
    return f"{table}|{ident}|{column}"


def encrypt(text: str, location: str) -> str:
    """The ciphertext under the newest key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 30 ms: not with each start

    key = key_ring()[0]
    nonce = os.urandom(NONCE_BYTES)
    raw = nonce + AESGCM(key.raw).encrypt(nonce, text.encode(), location.encode())
    return f"{PREFIX}{key.ident}.{base64.urlsafe_b64encode(raw).decode()}"


def decrypt(stored: str, location: str) -> str:
    """The text of a ciphertext, or what was stored as it is before; raises CannotDecrypt."""
    if not is_encrypted(stored):
        return stored
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    ident = key_of(stored)
    key = next((one for one in key_ring() if one.ident == ident), None)
    if key is None:
        raise CannotDecrypt(
            f"The key {ident} is not among the keys of this process: GATEPOST_ENCRYPTION_KEYS."
        )
    try:
        raw = base64.urlsafe_b64decode(stored.rpartition(".")[2])
        cipher = AESGCM(key.raw)
        return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], location.encode()).decode()
    except (InvalidTag, binascii.Error, ValueError):
        raise CannotDecrypt("The ciphertext was altered, or belongs to another place.") from None


def is_encrypted(stored: str) -> bool:
    """Return whether a stored text is ciphertext."""
    return stored.startswith(PREFIX)


def key_of(stored: str) -> str:
    """The name of the key of a ciphertext, "" of text that is none."""
    return stored.split(".", 2)[1] if is_encrypted(stored) and stored.count(".") >= 2 else ""
