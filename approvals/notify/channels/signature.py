"""Headers of outgoing webhooks, signed by Standard Webhooks; pure.

While a secret is being replaced each message carries a signature by the new one and one by the old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from approvals.hooks.signature import signature


def headers(keys: Iterable[str], *, ident: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a message, signed by each of these secrets."""
    signed = [signature(key, ident=ident, timestamp=timestamp, body=body) for key in keys]
    return {
        "webhook-id": ident,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signed),
    }


def valid(saved: Iterable[Mapping[str, Any]], *, now: datetime) -> list[str]:
    """The secrets of an endpoint that sign now, newest first."""
    return [
        str(row["secret"])
        for row in saved
        if row["until"] is None or datetime.fromisoformat(row["until"]) > now
    ]
