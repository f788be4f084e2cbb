"""A question taken apart: what kind of answer it wants, and the words that an answer must have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .word_forms import alike, stem, written

# Words that say how something is asked, and nothing of what.
_FILLERS: Final = """
a about according actually after again agent all also am among an and any anything are as ask
asked at be because been before being between both but by can could did do does doing during
each either ever every exactly for from get gets give given gives gave got had happen happened
has have having he her here him his how i if in into is it its itself just kind know list long
many may me mention mentioned might more most much must my neither no nor not now of off on once
one only or other our out over own per please record recorded records reason said same say says
she should show shown so some such than that the their them then there these they thing this
those thread threads time times to too under until up us value very was we were what when where
whether which while who whom whose why will with within without would you your
"""
IGNORED: Final = frozenset(_FILLERS.split())
_NEGATED: Final = re.compile(
    r"\b(cannot|neither|never|no|nobody|none|not|nothing|without)\b|n[’']t\b", re.I
)
_POSSIBLE: Final = re.compile(r"\b(to be|will|would|could|can|may|might|must|should)\b", re.I)


class Wants(StrEnum):
    """The kind of answer that a question wants."""

    PERSON = "person"
    TIME = "time"
    COUNT = "count"
    AMOUNT = "amount"
    REASON = "reason"
    WHETHER = "whether"
    VALUE = "value"


_FORMS: Final = (
    (Wants.PERSON, r"(who|whom|whose)\b|.*\bby whom\b"),
    (Wants.TIME, r"(.*\bwhen\b|(on |at |by )?(what|which) (day|date|time|hour)\b)"),
    (Wants.COUNT, r".*\bhow (many|often)\b|.*\b(what|which) number of\b"),
    (Wants.AMOUNT, r".*\bhow (much|large|big|long|old|far|high)\b"),
    (Wants.REASON, r".*\bwhy\b|.*\b(for what|what|which) (was the |were the |is the )?reasons?\b"),
    (
        Wants.WHETHER,
        r"(was|were|is|are|did|does|do|has|have|had|can|could|will|would|should)\b",
    ),
)
_COUNTED: Final = re.compile(r".*\b(?:how many|number of)\s+((?:[\w\-]+\s+){0,2}?[\w\-]+)", re.I)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question taken apart; words are as `word_forms` compares them.

    `counted` are the words that follow "how many". `search` are the words to look for, as they may
    be written. `negated`: it asks for what is not so.
    """

    text: str
    wants: Wants
    words: tuple[str, ...]
    counted: tuple[str, ...]
    search: tuple[str, ...]
    negated: bool
    possible: bool


def parse_question(question: str) -> ParsedQuestion:
    """Read a question; one without words of its own has `words` empty."""
    text = " ".join(question.split()).strip(" ?!.")
    lower = text.casefold()
    wants = next((w for w, form in _FORMS if re.match(form, lower)), Wants.VALUE)
    own = [word for word in written(text) if word.casefold() not in IGNORED]
    parts = [part for word in own for part in _parts(word)]
    counted = _COUNTED.match(lower)
    named = [w for w in written(counted[1]) if w not in IGNORED] if counted else []
    return ParsedQuestion(
        text=text,
        wants=wants,
        words=tuple(dict.fromkeys(stem(word) for word in parts)),
        counted=(stem(named[0]),) if named else (),
        search=tuple(dict.fromkeys(one for word in parts for one in alike(word.casefold()))),
        negated=is_negated(text),
        possible=is_possible(text),
    )


def is_negated(text: str) -> bool:
    """Return whether a clause says that something is not so."""
    return bool(_NEGATED.search(text))


def is_possible(text: str) -> bool:
    """Return whether a clause says what is to be or may be, and not what is."""
    return bool(_POSSIBLE.search(text))


def _parts(word: str) -> list[str]:
    """A word with a digit is one; of others each part counts (`set-aside`, `bank.pay`)."""
    if any(character.isdigit() for character in word):
        return [word]
    return [part for part in re.split(r"[./\-]", word) if part.casefold() not in IGNORED] or [word]
