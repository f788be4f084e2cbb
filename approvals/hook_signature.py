"""Signatures by Standard Webhooks (symmetric, `v1`): make and check them; pure.

What is signed is `<webhook-id>.<webhook-timestamp>.<body>`; the key is the base64 part of a secret
`whsec_<base64>`, the signature HMAC-SHA256, written `v1,<base64>`. The header may name several, and
several secrets may hold: one pair that fits is enough.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable
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


def signature(secret: str, *, ident: str, timestamp: str, body: bytes) -> str:
    """What a sender puts into `webhook-signature`."""
    signed = f"{ident}.{timestamp}.".encode() + body
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def holds(given: str, valid: Iterable[str], *, ident: str, timestamp: str, body: bytes) -> bool:
    """Whether one of the signatures in the header was made with one of the valid secrets.

    Every pair is compared, each in constant time: how long it takes tells nothing.
    """
    named = [one.encode() for one in given.split()[:NAMED_MAX]]
    found = False
    for secret in valid:
        wanted = signature(secret, ident=ident, timestamp=timestamp, body=body).encode()
        for one in named:
            found |= hmac.compare_digest(one, wanted)
    return found
