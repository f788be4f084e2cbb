"""The keys of an installation: the newest encrypts, all of them decrypt.

They are GATEPOST_ENCRYPTION_KEYS, the newest first, and behind them one that is derived from
GATEPOST_SECRET_KEY. Where no key is set the derived one encrypts: enough for one machine.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final

from django.conf import settings

KEY_BYTES: Final = 32
IDENT_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Key:
    """A key of 256 bits; `ident` names it in what it encrypted and reveals nothing of it."""

    ident: str
    raw: bytes = field(repr=False)
    derived: bool = False


def new_key() -> str:
    """A new random key, as GATEPOST_ENCRYPTION_KEYS takes it."""
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def key_bytes(text: str) -> bytes:
    """The bytes of a key; raises ValueError for what is not base64 of 32 bytes."""
    try:
        raw = base64.b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if len(raw) != KEY_BYTES:
        raise ValueError(f"is not base64 of {KEY_BYTES} bytes")
    return raw


def key_ring() -> tuple[Key, ...]:
    """All keys of this process, the one that encrypts first."""
    return _ring(tuple(getattr(settings, "GATEPOST_ENCRYPTION_KEYS", ())), settings.SECRET_KEY)


@lru_cache(maxsize=4)
def _ring(texts: Sequence[str], secret_key: str) -> tuple[Key, ...]:
    # The secret key is random and long: one keyed hash is all the derivation that it needs.
    derived = hmac.new(secret_key.encode(), b"gatepost-encryption-1", sha256).digest()
    return (*(_key(key_bytes(text)) for text in texts), _key(derived, derived=True))


def _key(raw: bytes, *, derived: bool = False) -> Key:
    ident = sha256(b"gatepost-encryption-key-1|" + raw).hexdigest()[:IDENT_CHARS]
    return Key(ident, raw, derived)
