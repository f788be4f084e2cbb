"""Reasons without what differs from thread to thread: alike troubles become one incident."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

# In this order: an id is no number, a path with an id is no id.
_VARIABLE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|\b0x[0-9a-f]+\b"  # an address in memory
    r"|(?P<id>\b(?=[a-z_-]*\d)[a-z0-9_-]*\d[a-z0-9_-]{3,}\b)"  # an id: letters and digits
    r"|\d+(?:[.,:]\d+)*",  # a number, an amount, a time
    re.IGNORECASE,
)
_COMPARED: Final = 500  # characters: a long reason differs at its end
# The name of an error or a node may have a digit as well: S3UploadError, fetch-2-prices.
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PRONOUNCED: Final = re.compile(
    r"(?!.*[^aeiouy]{4}|.*[aeiouy]{4})(?=.*[aeiouy])[a-z]{3,}", re.IGNORECASE
)
_SHORT: Final = re.compile(r"[a-z]{1,4}\d+", re.IGNORECASE)  # s3, ec2, sha256
_WORDS_LEAST: Final = 0.75  # of the letters of a name, as a share


def alike(reason: str) -> str:
    """A reason on one line with `#` for each number, UUID and id; the text that is compared."""
    text = _VARIABLE.sub(_without, " ".join(reason.split())[: 4 * _COMPARED])
    return re.sub(r"#(?:[\s.,:/-]*#)+", "#", text).lower()[:_COMPARED]


def fingerprint(reason: str) -> str:
    """32 hexadecimal digits, equal for reasons that differ only in numbers and ids."""
    return sha256(alike(reason).encode()).hexdigest()[:32]


def _without(match: re.Match[str]) -> str:
    """Return `#` for an id or a number; a name with digits keeps its words but no attached id."""
    token = match["id"]
    pieces = [] if token is None else re.split(r"([-_]+)", token)
    if not any(map(_is_name, pieces)):
        return "#"
    return "".join(
        re.sub(r"\d+", "#", piece)
        if _is_name(piece) or _SHORT.fullmatch(piece) or not re.search(r"\d", piece)
        else "#"
        for piece in pieces
    )


def _is_name(piece: str) -> bool:
    """Return whether a text with digits is a name, such as S3UploadError, and no random id.

    A name has one number, and most of its letters are words that can be pronounced, one of them
    with five letters or more.
    """
    words = _WORD.findall(piece)
    clear = [word for word in words if _PRONOUNCED.fullmatch(word)]
    if not any(len(word) >= 5 for word in clear) or len(re.findall(r"\d+", piece)) > 1:
        return False
    return sum(map(len, clear)) >= _WORDS_LEAST * sum(map(len, words))
