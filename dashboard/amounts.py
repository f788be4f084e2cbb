"""The amount that a proposal is about, where its arguments say so in a way that is common; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

AMOUNTS: Final = ("amount", "total", "total_amount", "price", "sum", "payment_amount")
CURRENCIES: Final = ("currency", "currency_code", "ccy")
SIGNS: Final = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
_CURRENCY = re.compile(r"[A-Z]{3}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,8})?")


def amount_of(args: Any) -> str:
    """`€48,200.00`, `12.50 CHF`, `412 recipients`; empty where nothing is recognised.

    Never guessed: a number counts under a name for amounts only, and as many digits are shown as
    were given.
    """
    if not isinstance(args, Mapping):
        return ""
    places = [args, *(value for value in args.values() if isinstance(value, Mapping))]
    for place in places:
        for name in AMOUNTS:
            value = place.get(name)
            if isinstance(value, Mapping):
                continue
            if (number := _number(value)) is not None:
                return _with_currency(number, _currency(place) or _currency(args))
    lists = [(name, value) for name, value in args.items() if isinstance(value, list)]
    if len(lists) == 1 and len(lists[0][1]) > 1:
        name, items = lists[0]
        return f"{len(items):,} {str(name).replace('_', ' ')[:24]}"
    return ""


def _number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    text = str(value)
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return f"{Decimal(text):,f}"
    except InvalidOperation:
        return None


def _currency(place: Mapping[str, Any]) -> str:
    for name in CURRENCIES:
        value = place.get(name)
        if isinstance(value, str) and _CURRENCY.fullmatch(value):
            return value
    return ""


def _with_currency(number: str, currency: str) -> str:
    if currency in SIGNS:
        sign = "-" if number.startswith("-") else ""
        return f"{sign}{SIGNS[currency]}{number.removeprefix('-')}"
    return f"{number} {currency}".strip()
