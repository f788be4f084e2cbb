"""Characters that a reader would not see, and how they are written instead.

Controls, soft hyphen, zero-width and bidirectional marks, fillers, variation selectors, tags, lone
surrogates. Ordinary line breaks, tabs and the emoji presentation selector stay. Pure.
"""

from __future__ import annotations

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n)"
)


def code_point(char: str) -> str:
    """`U+202E`: how a character that cannot be seen is written."""
    return f"U+{ord(char):04X}"


def has_hidden(text: object) -> bool:
    """Whether the text holds a character that a reader would not see."""
    return bool(HIDDEN.search(str(text)))


def plain(text: object) -> str:
    """The text with escapes instead of hidden characters, for titles and messages."""
    return HIDDEN.sub(lambda m: f"[{code_point(m[0])}]", str(text))
