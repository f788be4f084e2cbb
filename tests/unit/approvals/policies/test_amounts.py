"""Amounts have one form: what no tool is sure to read the same way counts as none."""

from __future__ import annotations

import random
import re
from typing import Any
from uuid import uuid4

import pytest

from approvals.policies import changes as policies
from approvals.policies.conditions import Unanswered, amount, condition, money, total
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, rule_for, values_of
from tests.support.cast import Cast

AMOUNTS = ["0", "9", "9.5", "9.50", "49.99", "-9", "0.10", 9, 9.5, 0, -9, "123456789012.345"]
# Each means about nine to some reader, or nothing; no two agree on all of them.
NONE = [
    *(
        "1e1",
        "9E0",
        "1_0",
        "0_9",
        " 9",
        "9 ",
        " 12 ",
        "9\n",
        "\t9",
        "+9",
        "09",
        "009.00",
        ".9",
        "9.",
    ),
    *(
        "9,50",
        "1,000",
        "1 000",
        "1'000",
        "٩",
        "९",
        "９",
        "9\u00a0",
        "\u200b9",
        "9\u0000",
        "−9",
        "--9",
    ),
    *(
        "0x9",
        "0b1001",
        "0o11",
        "9/1",
        "9%",
        "€9",
        "9 EUR",
        "EUR 9",
        "NaN",
        "nan",
        "sNaN",
        "Infinity",
    ),
    *("-inf", "", "-", ".", "nine", "9.5.0", "9d", "9L", "Ⅸ", "⑨", "½", "9" * 31, "1" * 16),
    *(True, False, None, [], ["9"], {}, {"amount": "9"}, {"amount": "9", "currency": "EUR"}),
    *(float("nan"), float("inf"), 1234567890123456.7, "1234567890123456.7"),
]
CURRENCIES = ["eur", "EUR ", " EUR", "USD", "", None, 978, "ＥＵＲ", "EURO", ["EUR"], True, "ЕUR"]


def facts(args: Any, workspace: Any = None) -> Facts:
    return Facts(workspace or uuid4(), uuid4(), agent="payments", tool="pay", args=args)


def answers(text: str, args: Any) -> bool:
    """Whether a condition has an answer for these arguments."""
    try:
        condition(text).holds(values_of(facts(args)))
    except Unanswered:
        return False
    return True


@pytest.mark.parametrize("value", AMOUNTS, ids=repr)
def test_decimal_texts_and_numbers_are_amounts(value: Any) -> None:
    assert amount(value) == total([value]) == float(value)
    assert money({"amount": value, "currency": "EUR", "to": "x"}, "EUR") == float(value)
    assert answers("amount(args.v) < 50 || true", {"v": value})
    assert answers("money(args.v, 'EUR') < 50", {"v": {"amount": value, "currency": "EUR"}})


@pytest.mark.parametrize("value", NONE, ids=repr)
def test_any_other_spelling_is_no_amount(value: Any) -> None:
    for read in (
        lambda: amount(value),
        lambda: total(["1", value]),
        lambda: money({"amount": value, "currency": "EUR"}, "EUR"),
    ):
        with pytest.raises((ValueError, TypeError)):
            read()


@pytest.mark.parametrize("seed", range(20))
def test_generated_spellings_count_only_in_the_one_form(seed: int) -> None:
    """Texts of pieces of numbers; a second reading of the form decides which are amounts."""
    chance = random.Random(seed)
    pieces = [*"0123456789", ".", "-", "+", "e", "_", " ", ",", "٣", "９", "x", "00", "\n"]
    for _ in range(500):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 6)))
        whole, dot, cents = text.removeprefix("-").partition(".")
        digits = set("0123456789")
        is_one = bool(whole) and set(whole) <= digits and (whole == "0" or whole[0] != "0")
        is_one = is_one and (not dot or (bool(cents) and set(cents) <= digits))
        try:
            read = amount(text) == float(text)
        except ValueError:
            read = False
        assert read == is_one, text


@pytest.mark.parametrize("currency", CURRENCIES, ids=repr)
def test_money_is_in_the_currency_that_the_condition_names(currency: Any) -> None:
    value = {"amount": "9.00", "currency": currency}
    assert not answers("money(args.v, 'EUR') < 50", {"v": value})
    if currency != "USD":
        with pytest.raises((ValueError, TypeError)):
            money(value, currency)


@pytest.mark.parametrize(
    "args", [{}, {"v": "9"}, {"v": {"amount": "9"}}, {"v": {"currency": "EUR"}}]
)
def test_money_without_a_currency_is_none(args: Any) -> None:
    assert not answers("money(args.v, 'EUR') < 50", args)


SWEEP = [
    *((text, {"v": v}) for text in ("amount(args.v)", "total([args.v])") for v in NONE),
    *(("money(args.v, 'EUR')", {"v": {"amount": v, "currency": "EUR"}}) for v in NONE),
    *(("money(args.v, 'EUR')", {"v": {"amount": "9", "currency": c}}) for c in CURRENCIES),
]


@pytest.mark.django_db
@pytest.mark.requirement("E02")
def test_what_is_no_amount_is_never_let_happen_and_always_asked_about(cast: Cast) -> None:
    for read in ("amount(args.v)", "total([args.v])", "money(args.v, 'EUR')"):
        name = re.sub(r"\W", "", read)
        row = policies.make(
            cast.workspace,
            Draft(f"Small {name}", f"{read} > -1e9 && {read} < 1e9", "allow"),
            actor="x",
        )
        tried = [args for text, args in SWEEP if text == read]
        assert len(tried) > 50
        for args in tried:
            assert rule_for(facts(args, cast.workspace)) is None, args
        policies.switch(row.policy, False, workspace=cast.workspace, actor="x")
        row = policies.make(cast.workspace, Draft(f"Large {name}", f"{read} > 1e9"), actor="x")
        for args in tried:
            rule = rule_for(facts(args, cast.workspace))
            assert rule is not None, args
            assert rule.action == "ask"
        policies.switch(row.policy, False, workspace=cast.workspace, actor="x")
