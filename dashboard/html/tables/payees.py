"""Many lines of a proposal added up by payee: what a phone shows before the lines themselves.

Amounts, currencies and payees are recognised by the names that `wording` knows and nothing else;
where one line lacks them nothing is added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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

    `name` has what else its lines call it in front: "Stahlbau Oderland · S-122". Beside an earlier
    list: its sum there, whether it is new, or goes to an account that it did not have there.
    """

    name: str
    lines: int
    total: str
    accounts: int
    was: str = ""
    is_new: bool = False
    other_account: bool = False


@dataclass(frozen=True, slots=True)
class Payees:
    """The payees of a list, the largest sum first; `others` more have the sum `rest`."""

    rows: tuple[Payee, ...]
    count: int
    lines: int
    total: str
    others: int
    rest: str
    is_compared: bool = False
    new: int = 0
    other_accounts: int = 0
    was: str = ""


@dataclass(slots=True)
class _Sums:
    """Sums of one payee so far."""

    lines: int = 0
    totals: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    accounts: set[str] = field(default_factory=set)
    names: dict[str, None] = field(default_factory=dict)  # in the order of the lines


def payees_of(args: Any, name: str, before: Any = None) -> Payees | None:
    """The lines of the list of this name by payee, beside those of earlier arguments if any.

    None where they are few or not all known, or most payees have one line: the sums would be no
    shorter than the lines.
    """
    sums = _sums(args, name)
    if sums is None:
        return None
    lines = sum(one.lines for one in sums.values())
    if lines < LINES_LEAST or len(sums) * SHORTER > lines:
        return None
    former = _sums(before, name)
    ranked = sorted(sums.items(), key=lambda pair: -max(pair[1].totals.values()))
    # What differs from the last time comes first: nobody may overlook it below thirty others.
    ranked.sort(key=lambda pair: not _has_other_account(pair[0], pair[1], former))
    rows = tuple(_payee(payee, one, former) for payee, one in ranked[:MOST])
    rest = [one for _, one in ranked[MOST:]]
    every = list(sums.values())
    result = Payees(rows, len(sums), lines, _words(every), len(rest), _words(rest))
    if former is None:
        return result
    return replace(
        result,
        is_compared=True,
        new=len(sums.keys() - former.keys()),
        other_accounts=sum(_has_other_account(payee, one, former) for payee, one in ranked),
        was=_words(list(former.values())),
    )


def _sums(args: Any, name: str) -> dict[str, _Sums] | None:
    """{payee: sums} of a list, or an object of lines; None where one lacks payee or amount."""
    held = args.get(name) if isinstance(args, Mapping) else None
    held = list(held.values()) if isinstance(held, Mapping) else held
    if not isinstance(held, list) or not held:
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
    return sums


def _payee(payee: str, one: _Sums, former: Mapping[str, _Sums] | None) -> Payee:
    before = (former or {}).get(payee)
    return Payee(
        *(_named(payee, one), one.lines, _words([one]), len(one.accounts)),
        was=_words([before]) if before else "",
        is_new=former is not None and before is None,
        other_account=_has_other_account(payee, one, former),
    )


def _has_other_account(payee: str, one: _Sums, former: Mapping[str, _Sums] | None) -> bool:
    before = (former or {}).get(payee)
    return before is not None and bool(before.accounts and one.accounts - before.accounts)


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
