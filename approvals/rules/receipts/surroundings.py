"""What stands around a number in a text and makes it another number: a sign, a scale, a factor."""

from __future__ import annotations

import re
from typing import Final

from .texts import DASHES, is_bounded
from .units import SCALES, SYMBOLS, unit_of

NEAR: Final = 24  # characters on either side that are looked at
_CURRENCY: Final = re.compile(rf"(?:[A-Z]{{3}}|[{re.escape(''.join(SYMBOLS))}]) ?$")
# -€5, –5 and "balance: - 5" are negative; a dash and a space alone begin an item of a list.
_NEGATIVE: Final = re.compile(
    rf"(?:^|\W)[{DASHES}]$|[:=(] ?[{DASHES}] $|\b(?:minus|negative) $", re.IGNORECASE
)
_THOUSANDS_BEFORE: Final = re.compile(r"(?<![\w.,])\d{1,3} $")
_THOUSANDS_BEHIND: Final = re.compile(r" \d{3}(?![\w/])")
_POWER_OR_FRACTION: Final = re.compile(
    r"[eE][+-]?\d| ?(?:[×*·^]|x ?\d|\d{1,2}[/⁄]\d|[²³¹⁰-⁹¼-¾⅐-⅞])"
)
_SCALE_WORDS: Final = "|".join(filter(str.isalpha, sorted(SCALES)))
_SCALE_BEHIND: Final = re.compile(rf"[ (]{{0,2}}(?:in )?(?:{_SCALE_WORDS})\b", re.IGNORECASE)


def is_whole(text: str, match: re.Match[str]) -> bool:
    """Return whether a match (`before`, `sign`, `digits`, `after`) is all that is written there."""
    start, end = match.span("digits")
    unit_end = match.end("after") if match["after"] else end
    attached = bool(match["after"]) and match.start("after") == end
    if attached and not unit_of(match["after"]):
        return False  # 253rd, 12x: an identifier, or a unit that nobody knows
    if not is_bounded(text, start, unit_end if attached else end):
        return False
    before = text[max(0, start - NEAR) : start]
    if not match["sign"] and _NEGATIVE.search(_CURRENCY.sub("", before)):
        return False
    behind, beyond = text[end : end + NEAR], text[unit_end : unit_end + NEAR]
    if _are_thousands(before, match["digits"], behind):
        return False
    if _POWER_OR_FRACTION.match(behind) or _POWER_OR_FRACTION.match(beyond):
        return False
    return not _SCALE_BEHIND.match(beyond)


def _are_thousands(before: str, digits: str, behind: str) -> bool:
    """Return whether digits are a part of a number whose thousands are set apart by spaces."""
    if len(digits) <= 3 and _THOUSANDS_BEHIND.match(behind):
        return True
    return bool(re.match(r"\d{3}(?!\d)", digits) and _THOUSANDS_BEFORE.search(before))
