"""Matching, checks and the choice, against sums worked out again from the raw files."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.payments import checks
from gatepost_agents.payments.choice import choose
from gatepost_agents.payments.invoices import DATA, Line, read_invoices, read_orders, read_suppliers
from gatepost_agents.payments.money import total
from gatepost_agents.payments.table import read

from .oracle import cents, reckon
from .oracle import rows as raw_rows

ALL = {"only": (), "at_most": "", "most": 500}


def checked(
    folder: Path, *, tolerance: str = "0.00", limit: str = "25000.00", confirmed: Any = ()
) -> tuple[list[Line], dict[str, set[int]], dict[str, str]]:
    """(open lines, {check: lines}, {line: why}) of the three files in a folder."""
    lines, problems, _ = read_invoices(
        read(folder / "invoices.csv", "invoices.csv"), named={}, corrected={}, stop=False
    )
    orders = read_orders(read(folder / "orders.csv", "orders.csv"), {})
    suppliers = read_suppliers(read(folder / "suppliers.csv", "suppliers.csv"), {})
    for check in (
        checks.duplicates,
        lambda left: checks.match(left, orders, suppliers, tolerance),
        lambda left: checks.accounts(left, suppliers, confirmed),
        lambda left: checks.limits(left, limit),
    ):
        gone = {problem["line"] for problem in problems}
        problems += check([line for line in lines if line["line"] not in gone])
    aside: dict[str, set[int]] = {}
    for problem in problems:
        aside.setdefault(problem["check"], set()).add(int(problem["line"]))
    why = {problem["line"]: problem["why"] for problem in problems}
    return [line for line in lines if line["line"] not in why], aside, why


@pytest.mark.parametrize("due_by", ["", "2026-10-31", "2026-11-30"])
def test_the_sample_comes_to_what_the_raw_files_say(due_by: str) -> None:
    left, aside, _ = checked(DATA)
    result = reckon(DATA, **({"due_by": due_by} if due_by else {}))
    assert result.lines >= 100
    assert aside == result.aside
    assert {int(line["line"]): cents(line["amount"]) for line in left} == result.payable
    chosen = choose(left, due_by=due_by, **ALL)
    assert cents(chosen["total"]) == sum(result.paid.values())
    assert chosen["count"] == len(result.paid) > 0
    assert len(chosen["waiting"]) == len(result.payable) - len(result.paid)


def test_the_sample_holds_every_kind_of_trouble() -> None:
    _, aside, why = checked(DATA)
    assert set(aside) == {"reading", "duplicates", "matching", "accounts", "limits"}
    text = " ".join(why.values())
    for trouble in (
        "names no order", "There is no order", "went to", "more than the order", "less than the",
        "is unknown", "names no supplier", "is in `USD`", "is the same invoice",
        "for the same order", "different amounts", "account changed", "check digits",
        "names no account", "above the limit", "isn’t a number", "below nothing",
        "There is no amount", "due date", "no invoice number",
    ):  # fmt: skip
        assert trouble in text, trouble


@pytest.mark.parametrize("seed", range(12))
def test_any_mix_of_lines_comes_to_the_same_as_the_oracle(tmp_path: Path, seed: int) -> None:
    """Lines of the sample in another order, some twice, cells mixed up between them."""
    chance = random.Random(seed)
    rows = raw_rows(DATA / "invoices.csv")
    mixed = [dict(row) for row in chance.sample(rows, 70)]
    mixed += [dict(row) for row in chance.sample(mixed, 12)]
    for _ in range(25):
        name = chance.choice(list(rows[0]))
        one, other = chance.choice(mixed), chance.choice(mixed)
        one[name] = other[name]
    chance.shuffle(mixed)
    with (tmp_path / "invoices.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(mixed)
    for name in ("orders.csv", "suppliers.csv"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    confirmed = frozenset(chance.sample([row["supplier"] for row in rows], 3))
    limit = chance.choice((100_000, 2_500_000))
    left, aside, _ = checked(tmp_path, limit=f"{limit // 100}.00", confirmed=confirmed)
    result = reckon(tmp_path, limit=limit, confirmed=confirmed)
    assert aside == result.aside
    assert {int(line["line"]): cents(line["amount"]) for line in left} == result.payable


def test_a_tolerance_lets_small_differences_pass() -> None:
    exact, _, why = checked(DATA)
    near, _, _ = checked(DATA, tolerance="0.01")
    passed = {line["line"] for line in near} - {line["line"] for line in exact}
    assert [why[line].count("0.01 more than the order") for line in passed] == [1]


def test_a_confirmed_account_is_paid() -> None:
    _, aside, why = checked(DATA)
    changed = {line for line in aside["accounts"] if "changed" in why[str(line)]}
    suppliers = {line["supplier"] for line in _lines() if int(line["line"]) in changed}
    left, after, _ = checked(DATA, confirmed=suppliers)
    assert changed <= {int(line["line"]) for line in left}
    assert after["accounts"] == aside["accounts"] - changed


def _lines() -> list[Line]:
    text = read(DATA / "invoices.csv", "invoices.csv")
    return read_invoices(text, named={}, corrected={}, stop=False)[0]


def test_what_the_bank_paid_before_is_not_paid_again() -> None:
    left, _, _ = checked(DATA)
    first, second = left[:2]
    paid = [
        {"supplier": first["supplier"], "invoice": first["invoice"].lower(), "amount": "1.00",
         "payment": "P-1", "paid_at": "2026-11-02T08:00:00Z"},
        {"supplier": "S-999", "invoice": second["invoice"], "amount": "1.00", "payment": "P-2"},
    ]  # fmt: skip
    (result,) = checks.history(left, paid)
    assert result["line"] == first["line"]
    assert result["why"] == "It was paid already: 1.00 on 2026-11-02 (P-1)."


def test_the_choice_goes_by_due_date_and_stays_within_what_is_allowed() -> None:
    left, _, _ = checked(DATA)
    whole = choose(left, **ALL)
    dues = [payment["due"] for payment in whole["payments"]]
    assert dues == sorted(dues)
    assert whole["total"] == total(payment["amount"] for payment in whole["payments"])

    few = choose(left, only=(), at_most="", most=5)
    assert few["payments"] == whole["payments"][:5]
    assert {waits["why"] for waits in few["waiting"]} == {"5 invoices are enough for one approval."}

    tight = choose(left, only=(), at_most="1000.00", most=500)
    assert 0 < (cents(tight["total"]) or 0) <= 100_000
    smallest = min(cents(waits["amount"]) or 0 for waits in tight["waiting"])
    assert (cents(tight["total"]) or 0) + smallest > 100_000 or len(tight["payments"]) > 1
    one = choose(left, only=("S-104",), at_most="", most=500)
    assert {payment["supplier"] for payment in one["payments"]} == {"S-104"}
    assert one["count"] + len(one["waiting"]) == len(left)


@pytest.mark.parametrize(
    ("account", "fits"),
    [
        ("DE89370400440532013000", True), ("GB82WEST12345698765432", True),
        ("NL91ABNA0417164300", True), ("DE88370400440532013000", False), ("DE89", False),
        ("de89370400440532013000", False), ("", False), ("NOT AN ACCOUNT", False),
    ],
)  # fmt: skip
def test_check_digits(account: str, fits: bool) -> None:
    assert checks.checks_out(account) is fits
