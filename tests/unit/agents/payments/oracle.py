"""Works out again what is to be paid, from the raw files and the standard library only.

Nothing of the agent is imported here. Money is whole cents.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from pathlib import Path


@dataclass(frozen=True)
class Reckoned:
    """`aside`: {check: lines}; `payable` and `paid`: {line: cents}."""

    lines: int
    aside: dict[str, set[int]]
    payable: dict[int, int]
    paid: dict[int, int]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cents(text: str) -> int | None:
    """Cents of "12.50" or "12"; None for everything else, also for 1.234."""
    match = re.fullmatch(r"([0-9]+)(?:\.([0-9]{1,2}))?", text)
    if not match or not int(match[1] + (match[2] or "").ljust(2, "0")):
        return None
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0"))


def is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def fits(account: str) -> bool:
    """The rule of ISO 13616, sign by sign."""
    rest = 0
    for sign in account[4:] + account[:4]:
        value = int(sign, 36)
        rest = (rest * (10 if value < 10 else 100) + value) % 97
    return rest == 1


def reckon(
    folder: Path,
    *,
    due_by: str = "9999-12-31",
    limit: int = 2_500_000,
    confirmed: frozenset[str] = frozenset(),
) -> Reckoned:
    """What the sample in `folder` comes to."""
    invoices = rows(folder / "invoices.csv")
    orders = {row["order"]: row for row in rows(folder / "orders.csv")}
    suppliers = {row["supplier"]: row for row in rows(folder / "suppliers.csv")}
    aside: dict[str, set[int]] = defaultdict(set)
    left: dict[int, dict[str, str]] = {}
    for line, row in enumerate(invoices, start=2):
        readable = cents(row["amount"]) and row["invoice"] and is_day(row["due"])
        if readable:
            left[line] = row
        else:
            aside["reading"].add(line)

    same = defaultdict(list)
    for line, row in left.items():
        number = "".join(c for c in row["invoice"].lower() if c.isalnum())
        same[row["supplier"], number].append(line)
    for item in same.values():
        equal = len({(left[n]["amount"], left[n]["account"]) for n in item}) == 1
        aside["duplicates"].update(item[1:] if equal else item)

    served = set()
    for line, row in left.items():
        if line in aside["duplicates"]:
            continue
        order = orders.get(row["order"])
        if (
            row["supplier"] in suppliers
            and order
            and order["supplier"] == row["supplier"]
            and row["currency"] == order["currency"] == "EUR"
            and cents(order["amount"]) == cents(row["amount"])
            and row["order"] not in served
        ):
            served.add(row["order"])
        else:
            aside["matching"].add(line)

    for line, row in left.items():
        if line in aside["duplicates"] | aside["matching"]:
            continue
        known = row["account"] == suppliers[row["supplier"]]["account"]
        trusted = known or row["supplier"] in confirmed
        if not (row["account"] and fits(row["account"]) and trusted):
            aside["accounts"].add(line)
        elif (cents(row["amount"]) or 0) > limit:
            aside["limits"].add(line)

    gone = set().union(*aside.values())
    payable = {n: cents(row["amount"]) or 0 for n, row in left.items() if n not in gone}
    paid = {n: value for n, value in payable.items() if left[n]["due"] <= due_by}
    return Reckoned(len(invoices), {k: v for k, v in aside.items() if v}, payable, paid)
