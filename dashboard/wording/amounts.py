"""The amount that a proposal is about, where its arguments say so in a way that is common; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

AMOUNTS: Final = ("amount", "total", "total_amount", "price", "sum", "payment_amount")
GROUPED: Final = frozenset((*AMOUNTS, "count", "counts", "quantity", "lines", "tokens", "bytes"))
CURRENCIES: Final = ("currency", "currency_code", "ccy")
SIGNS: Final = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
_CURRENCY = re.compile(r"[A-Z]{3}")
_PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?")  # written as it would be here
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,8})?")


def amount_of(args: Any) -> str:
    """`€48,200.00`, `12.50 CHF`, `412 recipients`; empty where nothing is recognised.

    Never guessed: a number counts under a name for amounts only, and as many digits are shown as
    were given.
    """
    if not isinstance(args, Mapping):
        return ""
    if (money := money_of(args)) is not None:
        return in_words(*money)
    lists = [(name, value) for name, value in args.items() if isinstance(value, list)]
    if len(lists) == 1 and len(lists[0][1]) > 1:
        name, items = lists[0]
        return f"{len(items):,} {str(name).replace('_', ' ')[:24]}"
    return ""


def money_of(args: Any) -> tuple[Decimal, str] | None:
    """(number, currency or "") that the arguments name; None where they name none."""
    if not isinstance(args, Mapping):
        return None
    objects = [args, *(value for value in args.values() if isinstance(value, Mapping))]
    for fields in objects:
        for name in AMOUNTS:
            value = fields.get(name)
            if isinstance(value, Mapping):
                continue
            if (number := _number(value)) is not None:
                return number, currency_of(fields) or currency_of(args)
    return None


def grouped(value: Any, name: str) -> str:
    """A value under a name for amounts or counts with separators of thousands: `24,963.18`.

    Its digits stay; a number under another name, such as one of an invoice, is as it is written.
    """
    if name in GROUPED and _PLAIN.fullmatch(str(value)) and not isinstance(value, bool):
        return f"{Decimal(str(value)):,f}"
    return str(value)


def in_words(number: Decimal, currency: str) -> str:
    """A number with its currency: `€48,200.00`, `12.50 CHF`."""
    text = f"{number:,f}"
    if currency in SIGNS:
        sign = "-" if text.startswith("-") else ""
        return f"{sign}{SIGNS[currency]}{text.removeprefix('-')}"
    return f"{text} {currency}".strip()


@dataclass(frozen=True, slots=True)
class Sum:
    """Amounts of several requests added up, per currency; `least` and `most` of one currency."""

    total: str
    least: str
    most: str


def sum_of(many: Iterable[Any]) -> Sum | None:
    """The sum and range of what several arguments are about; None if any names no amount."""
    by_currency: dict[str, list[Decimal]] = {}
    for args in many:
        money = money_of(args)
        if money is None:
            return None
        by_currency.setdefault(money[1], []).append(money[0])
    if not by_currency:
        return None
    total = " + ".join(in_words(sum(result, Decimal(0)), c) for c, result in by_currency.items())
    [(currency, result), *others] = by_currency.items()
    if others or min(result) == max(result):
        return Sum(total, "", "")
    return Sum(total, in_words(min(result), currency), in_words(max(result), currency))


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    text = str(value)
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def currency_of(fields: Mapping[str, Any]) -> str:
    """The code that stands beside an amount; empty where there is none."""
    for name in CURRENCIES:
        value = fields.get(name)
        if isinstance(value, str) and _CURRENCY.fullmatch(value):
            return value
    return ""


def spent(row: Any) -> str:
    """Steps, tokens and cost of a thread or of several, as in “3 steps, 1,240 tokens, $0.0031”."""
    parts = [f"{row.steps:,} step{'' if row.steps == 1 else 's'}"]
    if row.tokens:
        parts.append(f"{row.tokens:,} tokens")
    if row.cost != "0":
        parts.append(f"${row.cost}")
    return ", ".join(parts)
