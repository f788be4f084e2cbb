"""Numbers as they are written: thousands separators, decimal commas, signs and units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from .surroundings import is_whole
from .units import SCALES, unit_of

_THIN: Final = "\u00a0\u2009\u202f"
_DIGITS: Final = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"  # 1,234.50
    r"|\d{1,3}(?:['’]\d{3})+(?:\.\d+)?"  # 1'234.50
    rf"|\d{{1,3}}(?:[{_THIN}]\d{{3}})+(?:[.,]\d+)?"  # 1 234,50
    r"|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}"  # 1.234,50
    r"|\d+,\d+|\d+\.\d+|\d+"
)
_LETTERS: Final = "A-Za-zÀ-ÖØ-öø-ɏͰ-῿"  # no raised digit, no fraction
_UNIT: Final = rf"[€£¥$%‰]|[{_LETTERS}]{{1,9}}"
# Bounded on both sides: never a part of a longer number, a date, a version or an identifier.
_IN_TEXT: Final = re.compile(
    r"(?<![\w.,'’/:@+−-])(?P<open>\(?)(?P<before>[€£¥$]|[A-Z]{3})? ?(?P<sign>[-−+]?)"
    rf"(?P<digits>{_DIGITS})(?: ?(?P<after>{_UNIT})(?![\w]))?(?![\w'’/:@−-]|[.,]\d)"
)
_SPACED: Final = r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?"  # 1 234,50
_WHOLE: Final = re.compile(
    r"(?P<before>[€£¥$]|[A-Z]{3})?\s?(?P<sign>[-−+]?)"
    rf"(?P<digits>{_SPACED}|{_DIGITS})\s?(?P<after>{_UNIT})?"
)
_LOOSE: Final = re.compile(rf"{_SPACED}|{_DIGITS}")
_COMMA_DECIMALS: Final = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2})(?![\d.,])")
_AMBIGUOUS: Final = re.compile(r"\d{1,3}[.,]\d{3}")
DIGITS_MAX: Final = 40
STRONG_DIGITS: Final = 3
_YEARS: Final = range(1900, 2101)
LARGE: Final = 100


@dataclass(frozen=True, slots=True)
class Number:
    """A number and the unit that stands with it; empty where none does."""

    value: Decimal
    unit: str = ""


def decimal_commas(text: str) -> bool:
    """Return whether a text has decimals with a comma, so that its `1,234` has two readings."""
    return _COMMA_DECIMALS.search(text) is not None


def whole_number(text: str, *, commas: bool = False) -> Number | None:
    """The number that a whole text is; None for any other, and where it has two readings.

    Leading zeros make it an identifier: `0042` is no number.
    """
    match = _WHOLE.fullmatch(text) if len(text) <= DIGITS_MAX else None
    if match is None or not all(map(unit_of, filter(None, match.group("before", "after")))):
        return None  # "12 apples" is a text
    return _number(match, commas)


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers that stand in a text, each bounded on both sides."""
    commas = decimal_commas(text)
    for match in _IN_TEXT.finditer(text):
        in_brackets = match["open"] and text[match.end() : match.end() + 1] == ")"
        if in_brackets or len(match["digits"]) > DIGITS_MAX or not is_whole(text, match):
            continue  # (1,234.50) is how accounts write a negative number
        if (number := _number(match, commas)) is not None:
            yield number


def values_in(text: str) -> Iterator[Decimal]:
    """Every value that digits of a text can be read as, whatever stands around them."""
    for match in _LOOSE.finditer(text):
        if len(match[0]) <= DIGITS_MAX:
            for written in {plain(match[0]), re.sub(r"\D", "", match[0])}:
                yield from (Decimal(written), -Decimal(written))


def _number(match: re.Match[str], commas: bool) -> Number | None:
    written = match["digits"]
    if written[0] == "0" and len(written) > 1 and written[1].isdigit():
        return None
    if commas and _AMBIGUOUS.fullmatch(written):
        return None
    units = [unit_of(word) for word in (match["before"], match["after"]) if word]
    if match["before"] and not units[0] and match.string[match.end("before")] != " ":
        return None  # letters and digits of an identifier
    # Of two units a scale counts: EUR 253k are not 253 EUR.
    unit = next((one for one in units if one in SCALES), next(filter(None, units), ""))
    value = Decimal(plain(written))
    return Number(-value if match["sign"] in {"-", "−"} else value, unit)


def plain(written: str) -> str:
    """Digits with a decimal point at most, of a number as it is written."""
    text = re.sub(rf"['’ {_THIN}]", "", written)
    comma, point = text.rfind(","), text.rfind(".")
    if comma < 0 and text.count(".") > 1:
        return text.replace(".", "")
    if comma < 0:
        return text
    if point > comma or (point < 0 and re.fullmatch(r"\d{1,3}(?:,\d{3})+", text)):
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".")


def is_strong(value: Decimal) -> bool:
    """Return whether a number says enough by itself: three significant digits, and no year."""
    digits = "".join(map(str, value.normalize().as_tuple().digits))
    if len(digits) < STRONG_DIGITS:
        return False
    return not (value == value.to_integral_value() and int(value) in _YEARS)
