"""Text from agents and people as text: what cannot be seen is shown as an escape.

Invisible and bidirectional characters, and letters of another script inside a word, can make a
reviewer read something else than what will be done, so none of them reaches a page as itself.
Ordinary line breaks, tabs and the presentation selector behind an emoji stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import UTC, datetime

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

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
    """Where a letter stands in a word of another script: `pаypal` with one Cyrillic letter.

    The script that most letters of the word have is its own; of two as frequent the Latin one.
    """
    if text.isascii() or not _ALIKE.search(text):
        return frozenset()
    found: set[int] = set()
    for word in _WORD.finditer(text):
        if not _ALIKE.search(word[0]):
            continue
        scripts = [_script(char) for char in word[0]]
        counts = Counter(filter(None, scripts))
        if len(counts) > 1:
            own = max(counts, key=lambda name: (counts[name], name == "LATIN"))
            found |= {word.start() + i for i, name in enumerate(scripts) if name not in ("", own)}
    return frozenset(found)


def _hidden(text: str) -> list[int]:
    """The places of all characters that are written out, in order."""
    return sorted({match.start() for match in HIDDEN.finditer(text)} | strangers(text))


def has_hidden(text: object) -> bool:
    """Whether the text holds a character that a reader would not see or would take for another."""
    raw = str(text)
    return bool(HIDDEN.search(raw) or strangers(raw))


def plain(text: object) -> str:
    """The text with escapes instead of hidden characters, for titles and attributes."""
    raw = str(text)
    parts, end = [], 0
    for at in _hidden(raw):
        parts += [raw[end:at], f"[{code_point(raw[at])}]"]
        end = at + 1
    return "".join(parts) + raw[end:]


def visible(text: object) -> SafeString:
    """The text as HTML: everything escaped, hidden characters marked and named."""
    raw = str(text)
    places = _hidden(raw)
    if not places:
        return SafeString(escape(raw))
    parts: list[str] = []
    end = 0
    for at in places:
        name = escape(unicodedata.name(raw[at], "control character").lower())
        parts.append(escape(raw[end:at]))
        parts.append(f'<span class="esc" title="{name}">{code_point(raw[at])}</span>')
        end = at + 1
    parts.append(escape(raw[end:]))
    return mark_safe("".join(parts))  # noqa: S308 - each part is escaped above


def cut(text: object, *, at_most: int = 160) -> str:
    """A quotation on one line; what is left out shows as an ellipsis."""
    raw = " ".join(str(text).split())
    return raw if len(raw) <= at_most else raw[: at_most - 1] + "…"


def number(value: object) -> str:
    """1234567 as 1,234,567; whole floats without a fraction; other things as they are."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def size(n: float | None) -> str:
    """Bytes for people: 812 B, 41 kB, 3.2 MB (powers of ten)."""
    if n is None:
        return "–"
    if n < 1000:
        return f"{int(n)} B"
    for unit in ("kB", "MB", "GB", "TB"):
        n /= 1000
        if n < 999.5 or unit == "TB":
            return f"{n:.1f} {unit}" if n < 9.95 else f"{n:.0f} {unit}"
    raise AssertionError("unreachable")


def span(seconds: float | None) -> str:
    """A length of time in words: 0.4 s, 12 s, 14 min, 2 h 10, 3 d."""
    if seconds is None:
        return "–"
    seconds = max(seconds, 0.0)
    if seconds < 0.095:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d}"
    return f"{minutes // 1440} d"


def since(at: datetime, *, now: datetime | None = None) -> str:
    """How long ago: now, 12 s, 14 min, 2 h 10, 3 d; times.js counts on in the same words."""
    seconds = int(((now or datetime.now(UTC)) - at).total_seconds())
    if seconds < 5:
        return "now"
    return f"{seconds} s" if seconds < 60 else span(seconds)


def left(until: datetime, *, now: datetime | None = None) -> str:
    """How much time is left: 40:21 under an hour, then as `span`; "over" when it has passed."""
    seconds = int((until - (now or datetime.now(UTC))).total_seconds())
    if seconds <= 0:
        return "over"
    return f"{seconds // 60}:{seconds % 60:02d}" if seconds < 3600 else span(seconds)
