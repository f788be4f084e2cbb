"""Words of a text that somebody looks for, split as the index over titles splits them; pure."""

from __future__ import annotations

import re
from typing import Final

from ...limits import TITLE_MAX

# As gp_thread_words has both: what words end at, and letters of scripts without spaces.
_BETWEEN: Final = re.compile("[\x01-/:-@\\[-`{-\xbf\u2000-\u206f\u3000-\u303f\ufeff]+")
_ALONE: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])"
)
_ID_BEGINS: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]{0,27})?")


def split(text: str) -> list[str]:
    """The words of a text, in its own case."""
    return [word for word in _BETWEEN.split(_ALONE.sub(r" \1 ", text)) if word]


def word_query(text: str, *, whole: bool = False) -> str:
    """A tsquery for titles in which every word of the text stands; the last may continue.

    `whole`: the last may not. Words hold neither quotes nor backslashes.
    """
    words = " & ".join(f"'{word[:TITLE_MAX]}'" for word in split(text))
    return words if whole else f"{words}:*"


def id_range(text: str) -> tuple[str, str] | None:
    """The first and the last id that begin with a text, if eight digits or more are given."""
    lowered = text.lower()
    if not _ID_BEGINS.fullmatch(lowered):
        return None
    digits = lowered.replace("-", "")[:32]
    return digits.ljust(32, "0"), digits.ljust(32, "f")
