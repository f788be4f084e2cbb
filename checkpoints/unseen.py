"""Characters that a reader would not see, and how they are written instead.

Controls, soft hyphen, zero-width and bidirectional marks, fillers, variation selectors, tags, lone
surrogates. Ordinary line breaks, tabs and the emoji presentation selector stay. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

# Controls, soft hyphen, zero-width and bidirectional marks, fillers, variation selectors, tags,
# lone surrogates (which no page could be encoded with).
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n)"
    # The selector behind an emoji says how to draw it; anywhere else it is there to carry data.
    "|(?<![#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
# Letters that are drawn like those of another script.
_ALIKE = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0531-\u058a\u13a0-\u13ff\u1d00-\u1d2b\u1f00-\u1fff\u2c80-\u2cff"
    "\ua4d0-\ua4ff\uab30-\uabbf\uff21-\uff5a\U0001d400-\U0001d7ff]"
)
_WORD = re.compile(r"[^\W\d_]+")


def code_point(char: str) -> str:
    """`U+202E`: how a character that cannot be seen is written."""
    return f"U+{ord(char):04X}"


def _script(char: str) -> str:
    """The script of a letter, as the first word of its name; empty for marks and signs."""
    if not char.isalpha():
        return ""
    return unicodedata.name(char, "").partition(" ")[0].removesuffix("-")


def strangers(text: str) -> frozenset[int]:
    """Find the letters in a word of another script: `pаypal` with one Cyrillic letter.

    The script that most letters of the word have is its own; of two as frequent the Latin one.
    """
    if text.isascii() or not _ALIKE.search(text):
        return frozenset()
    results: set[int] = set()
    for word in _WORD.finditer(text):
        if not _ALIKE.search(word[0]):
            continue
        scripts = [_script(char) for char in word[0]]
        counts = Counter(filter(None, scripts))
        if len(counts) > 1:
            own = max(counts, key=lambda name: (counts[name], name == "LATIN"))
            results |= {word.start() + i for i, name in enumerate(scripts) if name not in ("", own)}
    return frozenset(results)


def places(text: str) -> list[int]:
    """The places of all characters that are written out, in order."""
    return sorted({match.start() for match in HIDDEN.finditer(text)} | strangers(text))


def has_hidden(text: object) -> bool:
    """Answer True if the text has a character that readers would not see or would mistake."""
    raw = str(text)
    return bool(HIDDEN.search(raw) or strangers(raw))


def plain(text: object) -> str:
    """The text with escapes instead of hidden characters, for titles and attributes."""
    raw = str(text)
    parts, end = [], 0
    for at in places(raw):
        parts += [raw[end:at], f"[{code_point(raw[at])}]"]
        end = at + 1
    return "".join(parts) + raw[end:]
