"""Signatures of outgoing webhooks by Standard Webhooks; pure.

Signed is `id.timestamp.body` by HMAC-SHA256; a secret reads `whsec_` and base64. While a secret is
being replaced each message carries a signature by the new one and one by the old.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32


def new_secret() -> str:
    """A secret that nobody had before."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, *, ident: str, timestamp: int, body: bytes) -> str:
    """`v1,<base64>` of one message by one secret."""
    key = b64decode(secret.removeprefix(PREFIX))
    signed = f"{ident}.{timestamp}.".encode() + body
    return "v1," + b64encode(hmac.new(key, signed, sha256).digest()).decode()


def headers(keys: Iterable[str], *, ident: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a message, signed by each of these secrets."""
    signed = [signature(key, ident=ident, timestamp=timestamp, body=body) for key in keys]
    return {
        "webhook-id": ident,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signed),
    }


def valid(kept: Iterable[Mapping[str, Any]], *, now: datetime) -> list[str]:
    """The secrets of an endpoint that sign now, newest first."""
    return [
        str(row["secret"])
        for row in kept
        if row["until"] is None or datetime.fromisoformat(row["until"]) > now
    ]
