"""Keys that encrypt what is stored: GATEPOST_ENCRYPTION_KEYS, checked."""

from __future__ import annotations

from checkpoints.encryption.keys import key_bytes

from .sources import Misconfigured, value

NAME = "GATEPOST_ENCRYPTION_KEYS"


def keys() -> tuple[str, ...]:
    """The keys as they are written, the newest first; raises Misconfigured, and shows none."""
    texts = tuple(text.strip() for text in value(NAME).split(",") if text.strip())
    for number, text in enumerate(texts, 1):
        try:
            key_bytes(text)
        except ValueError as error:
            raise Misconfigured(NAME, f"holds a key that {error}: number {number}.") from None
    if len(set(texts)) < len(texts):
        raise Misconfigured(NAME, "holds a key twice.")
    return texts
