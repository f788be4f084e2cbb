"""What speaks against paying a line: each check looks at lines that are still open; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from .invoices import CURRENCY, Line, Problem, problem
from .money import shown
from .problems import quoted

TITLES = {
    "reading": "cannot be read",
    "duplicates": "are there twice",
    "matching": "do not match an order",
    "accounts": "have a doubtful account",
    "history": "were paid before",
    "limits": "are above the limit",
}
_OF_ONE = {
    "duplicates": "is there twice",
    "matching": "does not match an order",
    "accounts": "has a doubtful account",
    "history": "was paid before",
    "limits": "is above the limit",
}


def title(check: str, number: int) -> str:
    """Describe the problem of several invoices, with a verb that agrees with their number."""
    return (_OF_ONE if number == 1 else {}).get(check, TITLES[check])


def duplicates(lines: Sequence[Line]) -> list[Problem]:
    """Invoices that would be paid twice: the first of equal ones stays, all of unequal ones go.

    Alike are numbers of one supplier that differ in case, blanks and signs only.
    """
    alike: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        alike.setdefault((line["supplier"], _folded(line["invoice"])), []).append(line)
    problems: list[Problem] = []
    for same in alike.values():
        first = same[0]
        if len({(line["amount"], line["account"]) for line in same}) > 1:
            numbers = ", ".join(line["line"] for line in same)
            why = f"Lines {numbers} have this number with different amounts or accounts."
            problems += [problem(line, "duplicates", why) for line in same]
            continue
        for line in same[1:]:
            why = f"Line {first['line']} is the same invoice ({quoted(first['invoice'])})."
            problems.append(problem(line, "duplicates", why))
    return sorted(problems, key=lambda one: int(one["line"]))


def _folded(number: str) -> str:
    return re.sub(r"[\W_]+", "", number.casefold())


def match(
    lines: Sequence[Line], orders: Mapping[str, Line], suppliers: Collection[str], tolerance: str
) -> list[Problem]:
    """Invoices against suppliers and orders: both known, the order theirs, the amount the same.

    An order that one invoice has used up is not paid again.
    """
    results = []
    used: dict[str, Line] = {}
    for line in lines:
        why = _mismatch(line, orders, suppliers, Decimal(tolerance))
        if not why and (first := used.setdefault(line["order"], line)) is not line:
            why = f"Line {first['line']}, {quoted(first['invoice'])}, is for the same order."
        if why:
            results.append(problem(line, "matching", why))
    return results


def _mismatch(
    line: Line, orders: Mapping[str, Line], suppliers: Collection[str], tolerance: Decimal
) -> str:
    named = line["order"]
    order = orders.get(named)
    if not line["supplier"]:
        return "It names no supplier."
    if line["supplier"] not in suppliers:
        return f"The supplier {quoted(line['supplier'])} is unknown."
    if not named:
        return "It names no order."
    if order is None:
        return f"There is no order {quoted(named)}."
    if order["supplier"] != line["supplier"]:
        return f"The order {quoted(named)} went to {quoted(order['supplier'])}."
    if line["currency"] != CURRENCY:
        return f"It is in {quoted(line['currency'])}; the account pays {CURRENCY}."
    if order["currency"] != line["currency"]:
        return f"The order {quoted(named)} is in {quoted(order['currency'])}."
    if not order["amount"]:
        return f"The order {quoted(named)} has no amount that can be read."
    difference = Decimal(line["amount"]) - Decimal(order["amount"])
    if abs(difference) > tolerance:
        more = "more" if difference > 0 else "less"
        return (
            f"It asks for {shown(line['amount'])}, {shown(str(abs(difference)))} {more} than the "
            f"order's {shown(order['amount'])}."
        )
    return ""


def accounts(
    lines: Sequence[Line], suppliers: Mapping[str, Line], confirmed: Collection[str]
) -> list[Problem]:
    """Accounts that are missing, mistyped, or not the one that the supplier was paid on last.

    `confirmed` holds suppliers whose new account somebody has confirmed with them.
    """
    results = []
    for line in lines:
        account, known = line["account"], suppliers[line["supplier"]]["account"]
        if not account:
            why = "It names no account."
        elif not checks_out(account):
            why = f"The check digits of the account {quoted(account)} are wrong."
        elif account != known and line["supplier"] not in confirmed:
            why = (
                f"The account changed since last time, from {quoted(known)} to {quoted(account)}; "
                f"ask {quoted(line['supplier'])} by phone, then name it in `confirmed`."
            )
        else:
            continue
        results.append(problem(line, "accounts", why))
    return results


def checks_out(account: str) -> bool:
    """Check the check digits of an IBAN (ISO 13616: the number modulo 97 is 1)."""
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{6,30}", account, re.ASCII):
        return False
    digits = "".join(str(int(sign, 36)) for sign in account[4:] + account[:4])
    return int(digits) % 97 == 1


def history(lines: Sequence[Line], paid: Iterable[Mapping[str, str]]) -> list[Problem]:
    """Invoices that the bank has paid already; `paid` as the bank tells its payments."""
    known = {(one["supplier"], _folded(one["invoice"])): one for one in paid}
    results = []
    for line in lines:
        one = known.get((line["supplier"], _folded(line["invoice"])))
        if one is not None:
            when = one.get("paid_at", "")[:10] or "before"
            why = f"It was paid already: {shown(one['amount'])} on {when} ({one['payment']})."
            results.append(problem(line, "history", why))
    return results


def limits(lines: Sequence[Line], limit: str) -> list[Problem]:
    """Invoices above what one approval may let pass."""
    return [
        problem(line, "limits", f"It is above the limit of {shown(limit)} for one invoice.")
        for line in lines
        if Decimal(line["amount"]) > Decimal(limit)
    ]
