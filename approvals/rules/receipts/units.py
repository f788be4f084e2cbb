"""Units of numbers: currencies, measures, and words that multiply; unlike units never agree."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

SYMBOLS: Final = {"€": "EUR", "£": "GBP", "¥": "¥", "$": "$", "%": "%", "‰": "‰"}
_MEASURE_WORDS: Final = (
    "kg g mg t lb oz km m cm mm mi ft in l ml h min s ms kb mb gb tb kwh wh w kw v a hz "
    "day days hour hours minute minutes second seconds month months year years "
    "pcs piece pieces item items unit units"
)
_SCALE_WORDS: Final = (
    "% ‰ percent pct bp bps dozen hundred hundreds thousand thousands tsd k million millions mio "
    "mn billion billions mrd bn trillion trillions lakh crore cent cents"
)
# As letters behind an amount: €253M is no length, and 4.5 B no bytes.
_SCALE_LETTERS: Final = {"K": "k", "M": "million", "MM": "million", "B": "billion", "T": "trillion"}
_CODES: Final = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES "
    "KRW KWD MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH "
    "USD VND ZAR"
)
_MEASURES: Final = frozenset(_MEASURE_WORDS.split())
_CURRENCIES: Final = frozenset(_CODES.split())
# A number before one of these is another number than the same without.
SCALES: Final = frozenset(_SCALE_WORDS.split())
_SCALE_KEYS: Final = frozenset(word for word in SCALES if len(word) > 3)  # `k` alone says little
KEYS: Final = ("currency", "ccy", "unit", "uom", "unit_of_measure")
_TOKENS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def unit_of(word: str) -> str:
    """The unit that a word beside a number names; empty where it names none."""
    word = word.strip()
    if word in SYMBOLS:
        return SYMBOLS[word]
    if word in _CURRENCIES:
        return word
    if word in _SCALE_LETTERS:
        return _SCALE_LETTERS[word]
    small = word.casefold()
    return small if small in SCALES or small in _MEASURES else ""


@lru_cache(maxsize=4096)
def tokens(key: str) -> tuple[str, ...]:
    """The words of a key, lower-case: `amountEUR` and `amount_eur` have the same."""
    return tuple(word.casefold() for word in _TOKENS.findall(key))


@lru_cache(maxsize=4096)
def same_key(one: str, other: str) -> bool:
    """Return whether two keys are the same name, however it is written."""
    return bool(one) and bool(other) and (one == other or tokens(one) == tokens(other) != ())


@lru_cache(maxsize=4096)
def unit_of_key(key: str) -> str:
    """The unit that the last word of a key names, as `EUR` in `amount_eur`; a scale anywhere."""
    words = tokens(key)
    if len(words) <= 1:
        return ""
    if scales := [word for word in words if word in _SCALE_KEYS]:
        return scales[0]
    last = words[-1]
    if last.upper() in _CURRENCIES:
        return last.upper()
    return last if last in SCALES or (last in _MEASURES and len(last) > 1) else ""


def agree(wanted: str, own: bool, here: str) -> bool:
    """Return whether a number of unit `wanted` may be the one that stands with unit `here`.

    `own`: the value itself names its unit, so the other has to as well.
    """
    if here in SCALES or wanted in SCALES:
        return wanted == here
    if own:
        return wanted == here
    return not wanted or not here or wanted == here
