"""Amount, currency and payees of what a row is about, for machines; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from dashboard.wording.amounts import currency_of, money_of
from dashboard.wording.parties import payee_names


class Parties(NamedTuple):
    """An amount as a decimal number, its currency as ISO 4217, payees by `; `; "" where unknown."""

    amount: str
    currency: str
    payee: str


def parties_of(args: Any) -> Parties:
    """The amount that the arguments name, or else the sum of their only list of lines.

    There is a sum where each line names an amount, all in one currency. Payees are those at any
    depth, as the search finds them.
    """
    money = money_of(args) or _sum(args)
    names = [payee_names(fields) for fields in _objects([args])]
    payees = dict.fromkeys(some[0] for some in names if some)
    if money is None:
        return Parties("", "", "; ".join(payees))
    return Parties(f"{money[0]:f}", money[1], "; ".join(payees))


def _sum(args: Any) -> tuple[Decimal, str] | None:
    if not isinstance(args, Mapping):
        return None
    lists = [held for held in args.values() if isinstance(held, list) and held]
    lines = [money_of(line) for line in lists[0]] if len(lists) == 1 else []
    amounts = [money for money in lines if money is not None]
    currencies = {currency or currency_of(args) for _, currency in amounts}
    if len(amounts) < len(lines) or len(currencies) != 1:
        return None
    return sum((number for number, _ in amounts), Decimal(0)), currencies.pop()


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects at any depth, outer ones first."""
    if isinstance(value, Mapping):
        yield value
    for held in value.values() if isinstance(value, Mapping) else value:
        if isinstance(held, Mapping | list):
            yield from _objects(held)
