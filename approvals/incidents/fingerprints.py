"""Reasons without what differs from thread to thread: alike troubles become one incident."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

# In this order: an id is no number, a path with an id is no id.
_VARIABLE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|\b0x[0-9a-f]+\b"  # an address in memory
    r"|\b(?=[a-z_-]*\d)[a-z0-9_-]*\d[a-z0-9_-]{3,}\b"  # an id: letters and digits
    r"|\d+(?:[.,:]\d+)*",  # a number, an amount, a time
    re.IGNORECASE,
)
_COMPARED: Final = 500  # characters: a long reason differs at its end


def alike(reason: str) -> str:
    """A reason on one line with `#` for each number, UUID and id; the text that is compared."""
    text = _VARIABLE.sub("#", " ".join(reason.split())[: 4 * _COMPARED])
    return re.sub(r"#(?:[\s.,:/-]*#)+", "#", text).lower()[:_COMPARED]


def fingerprint(reason: str) -> str:
    """32 hexadecimal digits, equal for reasons that differ only in numbers and ids."""
    return sha256(alike(reason).encode()).hexdigest()[:32]
