"""Text from agents and people as text: what cannot be seen is shown as an escape.

Invisible and bidirectional characters, and letters of another script inside a word, can make a
reviewer read something else than what will be done, so none of them reaches a page as itself.
Ordinary line breaks, tabs and the presentation selector behind an emoji stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime

from django.utils.html import escape
from django.utils.safestring import SafeData, SafeString, mark_safe

from checkpoints.queries import COUNT_CAP
from checkpoints.unseen import HIDDEN, code_point, has_hidden, places, plain
from checkpoints.views import AtLeast

__all__ = [
    "HIDDEN",
    "capped",
    "code_point",
    "cut",
    "has_hidden",
    "labels",
    "left",
    "number",
    "plain",
    "prose",
    "since",
    "size",
    "span",
    "visible",
    "visible_html",
]

# A run of backticks, the code and the run behind it; where an ellipsis cut the second off, the end.
# A name of parts between single quotes, such as 'bank.reserve', is code as well.
_CODE = re.compile(
    r"(?<!`)`++(?:([^`\n]+)`++|([^`\n]*…)\Z)|(?<![\w'])'([A-Za-z_]\w*(?:[.:/-]\w+)+)'(?![\w'])"
)


def moment(at: datetime | None) -> str:
    """A time that needs no reader's clock: `2026-11-26 09:42:39 UTC`."""
    return "–" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def visible(text: object) -> SafeString:
    """The text as HTML: everything escaped, hidden characters marked and named."""
    raw = str(text)
    hidden = places(raw)
    if not hidden:
        return SafeString(escape(raw))
    parts: list[str] = []
    end = 0
    for at in hidden:
        name = escape(unicodedata.name(raw[at], "control character").lower())
        parts.append(escape(raw[end:at]))
        parts.append(f'<span class="esc" title="{name}">{code_point(raw[at])}</span>')
        end = at + 1
    parts.append(escape(raw[end:]))
    return mark_safe("".join(parts))  # noqa: S308 - each part is escaped above


def prose(text: object) -> SafeString:
    """A sentence as HTML, as `visible`, with what stands in backticks and quoted names as code.

    A backtick without a second one stays as it is.
    """
    raw = str(text)
    if "`" not in raw and "'" not in raw:
        return visible(raw)
    parts: list[str] = []
    end = 0
    for result in _CODE.finditer(raw):
        parts.append(visible(raw[end : result.start()]))
        parts.append(f'<code class="w">{visible(result[1] or result[2] or result[3])}</code>')
        end = result.end()
    parts.append(visible(raw[end:]))
    return mark_safe("".join(parts))  # noqa: S308 - `visible` has escaped each part


def visible_html(html: SafeData) -> SafeString:
    """HTML that its maker made safe, with hidden characters named as plain text."""
    return mark_safe(HIDDEN.sub(lambda result: f"[{code_point(result[0])}]", str(html)))  # noqa: S308


def cut(text: object, *, at_most: int = 160) -> str:
    """A quotation on one line; what is left out shows as an ellipsis."""
    raw = " ".join(str(text).split())
    return raw if len(raw) <= at_most else raw[: at_most - 1] + "…"


def number(value: object) -> str:
    """1234567 as 1,234,567; whole floats without a fraction; other things as they are."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def capped(n: int) -> str:
    """A count of threads as pages show it: exact up to the cap of counts, beyond it "10,000+"."""
    more = n > COUNT_CAP or isinstance(n, AtLeast)
    return f"{min(n, COUNT_CAP):,}{'+' if more else ''}"


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
    """The time since then: now, 12 s, 14 min, 2 h 10, 3 d; times.js counts on in these words."""
    seconds = int(((now or datetime.now(UTC)) - at).total_seconds())
    if seconds < 5:
        return "now"
    return f"{seconds} s" if seconds < 60 else span(seconds)


def left(until: datetime, *, now: datetime | None = None) -> str:
    """The time left: 40:21 under an hour, then as `span`; "over" when it has passed."""
    seconds = int((until - (now or datetime.now(UTC))).total_seconds())
    if seconds <= 0:
        return "over"
    return f"{seconds // 60}:{seconds % 60:02d}" if seconds < 3600 else span(seconds)


def labels(pairs: Mapping[str, str]) -> str:
    """Labels of a thread in one line, as in “case=17, team=finance”; a dash where it has none."""
    return ", ".join(f"{key}={value}" for key, value in sorted(pairs.items())) or "–"
