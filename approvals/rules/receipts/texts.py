"""Texts: how they are compared, and which say enough by themselves."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

SHORT: Final = 3
WORD: Final = re.compile(r"\w+")
_JOINERS: Final = frozenset("-./_@:+&#'’")
_ACCOUNT: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_ACCOUNT_IN_TEXT: Final = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: [A-Z0-9]{1,4}){3,9}(?!\w)")


def normal(text: str) -> str:
    """A text with its white space collapsed and its characters composed; case matters."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def compact(text: str) -> str:
    """An account number without the spaces it is often written with; other texts as they are."""
    if " " in text and _ACCOUNT.fullmatch(bare := text.replace(" ", "")):
        return bare
    return text


def accounts_in(text: str) -> Iterator[str]:
    """The account numbers that a text writes in groups, without their spaces."""
    for match in _ACCOUNT_IN_TEXT.finditer(text):
        yield match[0].replace(" ", "")


def is_weak(text: str) -> bool:
    """Tell whether a text says nothing by itself: too short, or one plain lower-case word."""
    return len(text) < SHORT or (text.isalpha() and text.islower())


def is_name(text: str) -> bool:
    """Tell whether a text is one word with a capital: a name, or how a sentence begins."""
    return text.isalpha() and not text.isupper()


def begins_sentence(text: str, start: int) -> bool:
    """Tell whether the word at `start` is the first of a sentence."""
    before = text[:start].rstrip(" \"'“”‘’(")
    return not before or before[-1] in ".!?:;\n"


def is_bounded(text: str, start: int, end: int) -> bool:
    """Tell whether the part is a whole token: no part of a longer word, number or identifier."""
    if start and _binds(text[start - 1], text[start - 2 : start - 1], text[start]):
        return False
    return not (end < len(text) and _binds(text[end], text[end + 1 : end + 2], text[end - 1]))


def _binds(next_to: str, beyond: str, edge: str) -> bool:
    """Tell whether a character beside a part makes it a part of something longer."""
    if not (edge.isalnum() or edge == "_"):
        return False
    if next_to.isalnum() or next_to == "_":
        return True
    return next_to in _JOINERS and (beyond.isalnum() or beyond == "_")
