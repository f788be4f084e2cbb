"""Many lines of a proposal added up by payee: what a phone shows before the lines themselves.

Amounts, currencies and payees are recognised by the names that `wording` knows and nothing else;
where one line lacks them nothing is added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from dashboard.wording.amounts import currency_of, in_words, money_of
from dashboard.wording.parties import payee_names, recognised

LINES_LEAST: Final = 8  # fewer are read as they are
SHORTER: Final = 2  # lines of a payee, on average at least
NAMES: Final = 3  # of one payee, where its lines do not agree
MOST: Final = 30  # payees, those of the largest sums; the rest is one line


@dataclass(frozen=True, slots=True)
class Payee:
    """The lines of one payee: how many, their sum, and to how many accounts they go.

    `name` has what else its lines call it in front: "Stahlbau Oderland · S-122".
    """

    name: str
    lines: int
    total: str
    accounts: int


@dataclass(frozen=True, slots=True)
class Payees:
    """The payees of a list, the largest sum first; `others` more have the sum `rest`."""

    rows: tuple[Payee, ...]
    count: int
    lines: int
    total: str
    others: int
    rest: str


@dataclass(slots=True)
class _Sums:
    """Sums of one payee so far."""

    lines: int = 0
    totals: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    accounts: set[str] = field(default_factory=set)
    names: dict[str, None] = field(default_factory=dict)  # in the order of the lines


def payees_of(args: Any, name: str) -> Payees | None:
    """The lines of the list of this name by payee; None where they are few or not all known.

    None as well where most payees have one line: the sums would be no shorter than the lines.
    """
    held = args.get(name) if isinstance(args, Mapping) else None
    if not isinstance(held, list) or len(held) < LINES_LEAST:
        return None
    sums: dict[str, _Sums] = {}
    for line in held:
        known, money = recognised(line), money_of(line)
        if not known.payee or money is None:
            return None
        one = sums.setdefault(known.payee, _Sums())
        one.lines += 1
        one.totals[money[1] or currency_of(args)] += money[0]
        one.accounts |= {known.account} - {""}
        one.names |= dict.fromkeys(name for name in payee_names(line) if name != known.payee)
    if len(sums) * SHORTER > len(held):
        return None
    ranked = sorted(sums.items(), key=lambda pair: -max(pair[1].totals.values()))
    rows = tuple(
        Payee(_named(payee, one), one.lines, _words([one]), len(one.accounts))
        for payee, one in ranked[:MOST]
    )
    rest = [one for _, one in ranked[MOST:]]
    every = list(sums.values())
    return Payees(rows, len(sums), len(held), _words(every), len(rest), _words(rest))


def _named(payee: str, one: _Sums) -> str:
    names = [*one.names]
    others = " / ".join(names[:NAMES]) + (" / …" if len(names) > NAMES else "")
    return f"{others} · {payee}" if others else payee


def _words(many: Sequence[_Sums]) -> str:
    totals: dict[str, Decimal] = {}
    for one in many:
        for currency, number in one.totals.items():
            totals[currency] = totals.get(currency, Decimal(0)) + number
    return " + ".join(in_words(number, currency) for currency, number in totals.items())
