"""Cells of a CSV that no spreadsheet takes for a formula; pure."""

from __future__ import annotations

import unicodedata
from typing import Final

# What a spreadsheet would compute or skip, and the sign that says a cell is text.
SIGNS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_LOOKED_AT: Final = 1_000  # characters; a longer run of blanks is marked without looking further


def as_cell(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet might compute it.

    Some skip blanks and invisible characters, and read full-width signs as the plain ones.
    """
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    if text.startswith(SIGNS):
        return True
    for char in text[:_LOOKED_AT]:
        # Categories Z and C: separators, controls and formats.
        if unicodedata.category(char)[0] not in "ZC":
            return unicodedata.normalize("NFKC", char).startswith(SIGNS)
    return len(text) > _LOOKED_AT
