"""Keyed digests of bodies: they tell a repeated body from another one, and a dump tells nothing.

A plain hash of a short body can be guessed: somebody who has the rows tries all that it may have
been. These need a key that follows from the secret key, which is not in the database. What was
written under a former secret key, or as a plain sha256 before there was a key, still fits.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from hashlib import sha256

from django.conf import settings


def keyed_digest(of: str, body: bytes) -> bytes:
    """The digest of a body under the key of now; `of` names what it is a digest of."""
    return _digest(settings.SECRET_KEY, of, body)


def fits_digest(stored: bytes, of: str, body: bytes) -> bool:
    """Return whether a stored digest is that of this body, under any key or under none."""
    keys = (settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS))
    known = (*(_digest(key, of, body) for key in keys), sha256(body).digest())
    return any(hmac.compare_digest(stored, one) for one in known)


def _digest(secret_key: str, of: str, body: bytes) -> bytes:
    return hmac.digest(_key(secret_key, of), body, "sha256")


@lru_cache(maxsize=16)
def _key(secret_key: str, of: str) -> bytes:
    return hmac.digest(secret_key.encode(), f"gatepost-digest-1|{of}".encode(), "sha256")
