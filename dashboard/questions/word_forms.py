"""Words as questions and answers are compared by: without endings, one form for a group of words.

English only. A word with a digit (an amount, a number of an invoice) is compared as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:[.'’/\-][^\W_]+)*")
_PART: Final = re.compile(r"[^\W_]+")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")
# Words that mean the same in questions about work; the first stands for all of them.
GROUPS: Final = (
    ("pay", "paid", "payment", "payments", "payout"),
    ("reject", "refuse", "decline", "deny", "denied", "refusal", "rejection"),
    ("licence", "license"),
    ("start", "begin", "began", "begun"),
    ("finish", "end", "complete", "done"),
    ("fail", "failure"),
    ("choose", "chose", "chosen", "select"),
    ("find", "found"),
    ("write", "wrote", "written"),
    ("hold", "held"),
    ("take", "took", "taken"),
    ("know", "knew", "known"),
    ("send", "sent"),
    ("undo", "undid", "undone"),
    ("mail", "email", "e-mail"),
    ("supplier", "vendor"),
    ("publish", "publication"),
    ("cite", "citation"),
    ("cost", "price"),
    ("package", "dependency"),
    ("reserve", "reservation"),
    ("search", "look"),
    ("duplicate", "duplicates", "twice"),
)
_ENDINGS: Final = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The form of a word that is compared."""
    word = word.casefold().replace("’", "'").removesuffix("'s").removesuffix("'")
    if any(character.isdigit() for character in word):
        return word
    return _GROUPED.get(_cut(word), _cut(word))


def _cut(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + ("y" if ending in ("ied", "ies") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeouls":
        word = word[:-1]  # "stopped", "planned"
    return word.removesuffix("e") if len(word) > 3 else word


def written(text: str) -> Iterator[str]:
    """The words of a text as they are written; numbers without thousands' separators."""
    return (match[0] for match in _WORD.finditer(_THOUSANDS.sub("", text)))


def stems(text: str) -> list[str]:
    """The words of a text in their order, as they are compared; one of several parts is whole."""
    return [stem(word) for word in written(text)]


@lru_cache(maxsize=50_000)
def all_stems(text: str) -> frozenset[str]:
    """The same with the parts of words of several parts, such as `bank.pay`."""
    results: set[str] = set()
    for word in written(text.replace("_", " ")):
        results.add(stem(word))
        parts = _PART.findall(word)
        if len(parts) > 1:
            results.update(stem(part) for part in parts)
    return frozenset(results)


def alike(word: str) -> tuple[str, ...]:
    """A word with all that mean the same, for a search by words."""
    group = _BY_STEM.get(stem(word), ())
    return (word, *(other for other in group if other != word))


_GROUPED: dict[str, str] = {}
_GROUPED |= {_cut(word): _cut(group[0]) for group in GROUPS for word in group}
_BY_STEM: Final = {_cut(group[0]): group for group in GROUPS}
