"""Signatures by Standard Webhooks (symmetric, `v1`), of messages in and out; pure.

Tests compare them with those of its library, which is not used: it knows one secret, stops at the
first match, raises various errors at a malformed header, and reads the clock of this machine.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

PREFIX: Final = "whsec_"
KEY_BYTES: Final = (24, 64)
NAMED_MAX: Final = 20  # signatures in one header


def new_secret() -> str:
    """A secret with a key of 32 random bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """The key of a secret; raises ValueError with what is wrong."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not whsec_ with base64 behind it") from None
    low, high = KEY_BYTES
    if not secret.startswith(PREFIX) or not low <= len(key) <= high:
        raise ValueError(f"is not whsec_ with base64 of {low} to {high} bytes behind it")
    return key


def signature(secret: str, *, ident: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` of a message; raises ValueError where it is no UTF-8 or no date."""
    datetime.fromtimestamp(timestamp, UTC)
    signed = f"{ident}.{timestamp}.{body.decode()}"
    digest = hmac.digest(key_of(secret), signed.encode(), "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def holds(value: str, valid: Iterable[str], *, ident: str, timestamp: int, body: bytes) -> bool:
    """Check that one of the header's signatures was made with one of the valid secrets.

    Every pair is compared, each in constant time: the time taken reveals nothing.
    """
    named = [one.encode() for one in value.split()[:NAMED_MAX]]
    result = False
    for secret in valid:
        try:
            wanted = signature(secret, ident=ident, timestamp=timestamp, body=body).encode()
        except ValueError:
            return False
        for one in named:
            result |= hmac.compare_digest(one, wanted)
    return result
