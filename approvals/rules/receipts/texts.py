"""Texts: how they are compared, and which say enough by themselves."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from typing import Final

SHORT: Final = 3
WORD: Final = re.compile(r"\w+")
# Between two letters or digits these join them to one token.
DASHES: Final = "-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
_JOINERS: Final = frozenset(f"{DASHES}./_@:+&#%~'’")
_JOINERS_BEHIND: Final = _JOINERS | {"?"}  # an address continues with its query
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
    """Return whether a text says nothing by itself: too short, or one plain lower-case word."""
    return len(text) < SHORT or (text.isalpha() and text.islower())


def is_name(text: str) -> bool:
    """Return whether a text is one word with a capital: a name, or how a sentence begins."""
    return text.isalpha() and not text.isupper()


def begins_sentence(text: str, start: int) -> bool:
    """Return whether the word at `start` is the first of a sentence."""
    before = text[:start].rstrip(" \"'“”‘’(")
    return not before or before[-1] in ".!?:;\n"


def is_bounded(text: str, start: int, end: int) -> bool:
    """Return whether the part is a whole token: no part of a longer word, number or identifier."""
    if start and _binds(text[start - 1], text[max(start - 2, 0) : start - 1], text[start]):
        return False
    if end == len(text):
        return True
    next_to, beyond = text[end], text[end + 1 : end + 2]
    return not _binds(next_to, beyond, text[end - 1], joiners=_JOINERS_BEHIND)


def _binds(next_to: str, beyond: str, edge: str, *, joiners: Container[str] = _JOINERS) -> bool:
    """Return whether a character beside a part makes it a part of something longer."""
    if _in_word(next_to):
        # A path or an address that ends with a joiner continues as well.
        return _in_word(edge) or edge in joiners
    if next_to.isascii():
        return _in_word(edge) and next_to in joiners and _in_word(beyond)
    kind = unicodedata.category(next_to)
    if kind.startswith("M"):  # an accent belongs to the letter before it
        return True
    return _in_word(beyond) and (kind == "Cf" or (_in_word(edge) and next_to in joiners))


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
