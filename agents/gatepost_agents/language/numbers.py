"""Finds numbers in a model's answer that the text it was given does not have."""

from __future__ import annotations

import re
from decimal import Decimal

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def unknown_numbers(answer: str, source: str) -> list[str]:
    """The numbers of an answer, as it writes them, that the source does not show; each once.

    "1,200" and "1200.0" are one number; whole numbers up to ten are taken as words.
    """
    known = {_value(text) for text in _NUMBER.findall(source.replace("\\", ""))}
    known |= {Decimal(n) for n in range(11)}
    return [text for text in dict.fromkeys(_NUMBER.findall(answer)) if _value(text) not in known]


def _value(text: str) -> Decimal:
    return Decimal(text.replace(",", "")).normalize()
