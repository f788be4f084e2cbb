"""Quick looks that tell most values and texts apart from the wanted ones before they are compared.

They never rule out what would be the same: a value that passes is compared in full.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from . import texts

PIECE: Final = re.compile(r"[^\W\d_]+|\d+")
_NO_DIGITS: Final = re.compile(r"\D+")
LONG: Final = 60  # characters from which a value is neither a number nor a date
_ACCOUNT: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_THOUSANDS: Final = 3


def pieces_of(text: str) -> list[str]:
    """The runs of letters and of digits of a text."""
    return PIECE.findall(text)


def pieces_of_json(text: str) -> list[str]:
    """The same of JSON as text, where line ends are written as letters."""
    if "\\" in text:
        text = text.replace("\\n", " ").replace("\\r", " ").replace("\\t", " ")
    return PIECE.findall(text if text.isascii() else unicodedata.normalize("NFC", text))


def longest_piece(text: str) -> str:
    """The piece by which a text is looked for; empty where it has none."""
    return max(PIECE.findall(text), key=len, default="")


class Hints:
    """Marks without which no value or text is, or holds, one of those that are wanted."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.numbers: set[str] = set()
        self.years: set[str] = set()
        self.groups: set[str] = set()  # of digits, of account numbers
        self._texts: set[str] = set()
        self._digits: set[str] = set()
        self._literals = self._moments = False

    def may_hold(self, pieces: Collection[str]) -> bool:
        """Return whether a text of these pieces can hold one of those that are wanted."""
        wanted = (self.words, self.numbers, self.years, self.groups)
        return not all(one.isdisjoint(pieces) for one in wanted)

    def add(self, kind: str, value: Any) -> None:
        """Take a normal form of a wanted value."""
        if kind == "literal":
            self._literals = True
        elif kind == "text":
            self._texts.add(value)
            if _ACCOUNT.fullmatch(value):
                self._digits.add(_NO_DIGITS.sub("", value).strip("0"))
                # In groups it stands in texts by a part of its digits.
                self.groups |= {value[n : n + 4] for n in range(4, len(value), 4)}
        elif kind == "number":
            self._number(value)
        elif isinstance(value, datetime):
            self._moments = True
            self.years.add(f"{value:%Y}")
        elif isinstance(value, date):
            self._date(value)

    def _number(self, value: Decimal) -> None:
        written = _NO_DIGITS.sub("", format(value, "f"))
        self._digits.add(written.strip("0"))
        whole = str(abs(int(value)))
        self.numbers |= {whole, whole[-_THOUSANDS:]}

    def _date(self, day: date) -> None:
        self._moments = True  # of one the calendar day is compared
        days, months = (f"{day:%d}", str(day.day)), (f"{day:%m}", str(day.month), "")
        written = [f"{day:%Y%m%d}", *(f"{d}{m}{day:%Y}" for d in days for m in months)]
        self._digits |= {digits.strip("0") for digits in written}
        self.years.add(f"{day:%Y}")

    def may_be(self, value: Any) -> bool:
        """Return whether a single value can be one of those that are wanted."""
        if value is None or isinstance(value, bool):
            return self._literals
        if not isinstance(value, str):
            return _NO_DIGITS.sub("", format(Decimal(str(value)), "f")).strip("0") in self._digits
        if value in self._texts:
            return True
        if len(value) < LONG:
            digits = _NO_DIGITS.sub("", value)
            if digits and (digits.strip("0") in self._digits or (self._moments and ":" in value)):
                return True
        if value.isascii() and "  " not in value and value == value.strip():
            return "\n" in value and texts.normal(value) in self._texts
        return texts.normal(value) in self._texts
