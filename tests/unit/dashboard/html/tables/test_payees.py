"""Many lines of a proposal by payee: sums to the cent, nothing guessed, nothing left out."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.html.tables.payees import LINES_LEAST, MOST, payees_of
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def line(n: int, payee: str, amount: str, **more: Any) -> dict[str, Any]:
    return {"invoice": f"RE-{n:05}", "supplier": payee, "amount": amount, **more}


def args(lines: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"lines": lines, **more}


def test_lines_are_added_up_by_payee_the_largest_sum_first() -> None:
    lines = [line(n, "Nord", "0.10") for n in range(7)] + [line(8, "Süd", "12.00")]
    result = payees_of(args(lines, currency="EUR"), "lines")
    assert result is not None
    assert [(row.name, row.lines, row.total) for row in result.rows] == [
        ("Süd", 1, "€12.00"),
        ("Nord", 7, "€0.70"),
    ]
    assert (result.count, result.lines, result.total, result.others) == (2, 8, "€12.70", 0)


def test_a_payee_that_is_a_number_has_its_name_in_front() -> None:
    lines = [line(n, "S-122", "1.00", to="Stahlbau Oderland") for n in range(7)]
    lines += [line(8, "S-9", "2.00", to="Nord"), line(9, "S-9", "2.00", to="Süd")]
    result = payees_of(args(lines), "lines")
    assert result is not None
    assert [row.name for row in result.rows] == ["Stahlbau Oderland · S-122", "Nord / Süd · S-9"]


def test_currencies_are_not_mixed_and_accounts_are_counted() -> None:
    lines = [line(n, "Nord", "1.00", currency="EUR", iban=f"DE{n % 2}") for n in range(8)]
    lines[0]["currency"] = "USD"
    result = payees_of(args(lines), "lines")
    assert result is not None
    (row,) = result.rows
    assert row.total == "$1.00 + €7.00"
    assert row.accounts == 2


@pytest.mark.parametrize(
    "lines",
    [
        [line(n, "Nord", "1.00") for n in range(LINES_LEAST - 1)],
        [line(n, "Nord", "1.00") for n in range(9)] + [line(9, "", "1.00")],
        [line(n, "Nord", "1.00") for n in range(9)] + [line(9, "Nord", "about 5")],
        [{"invoice": "RE-1", "amount": "1.00"}] * 9,
        [line(n, f"Payee {n % 5}", "1.00") for n in range(9)],
        [*range(9)],
    ],
)
def test_few_lines_those_of_many_payees_and_those_without_amounts_are_not_added_up(
    lines: list[Any],
) -> None:
    assert payees_of(args(lines), "lines") is None
    assert payees_of(lines, "lines") is None


@given(
    st.lists(
        st.tuples(st.sampled_from([f"P{n}" for n in range(40)]), st.integers(-(10**9), 10**9)),
        min_size=LINES_LEAST,
        max_size=200,
    )
)
def test_sums_are_exact_and_hold_every_line(pairs: list[tuple[str, int]]) -> None:
    lines = [line(n, payee, f"{Decimal(c) / 100:.2f}") for n, (payee, c) in enumerate(pairs)]
    result = payees_of(args(lines), "lines")
    if 2 * len({payee for payee, _ in pairs}) > len(pairs):
        assert result is None
        return
    assert result is not None

    def cents(words: str) -> int:
        return round(Decimal(words.replace(",", "")) * 100) if words else 0

    assert cents(result.total) == sum(c for _, c in pairs)
    assert sum(cents(row.total) for row in result.rows) + cents(result.rest) == cents(result.total)
    assert len(result.rows) + result.others == result.count == len({p for p, _ in pairs})
    assert len(result.rows) <= MOST


@pytest.mark.django_db
def test_the_page_has_the_sums_before_the_lines(cast: Cast) -> None:
    lines = [line(n, f"<b>{n % 9} Ltd", "1117.50", iban=f"DE{n % 10}") for n in range(100)]
    row = scene.waiting(
        cast.workspace, scene.make_agent(), args=args(lines, currency="EUR"), tool="pay"
    )
    html = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    part = html.partition('<section class="by-payee"')[2].partition("</section>")[0]
    words = " ".join(unescape(re.sub(r"<[^>]*>", " ", part.partition(">")[2])).split())
    assert words.startswith("9 payees, €111,750.00 added up from 100 lines <b>0 Ltd 12 lines")
    assert "10 accounts €13,410.00" in words
    assert words.endswith("Show all 100 lines Hide the lines")
    assert part.count("<li>") == 9
    assert html.index("by-payee") < html.index("<td>RE-00000")
    assert all(html.count(f"RE-{n:05}") >= 1 for n in range(100)), "each line is in the page"


def test_payees_stand_beside_those_of_the_last_time_another_account_first() -> None:
    old = [line(n, "Nord", "1.00", iban="DE1") for n in range(5)]
    old += [line(n, "Tauern", "9.00", iban="AT1") for n in range(5)]
    new = [line(n + 90, "Nord", "2.00", iban="DE9") for n in range(4)]
    new += [line(n + 94, "Tauern", "9.00", iban="AT1") for n in range(4)]
    new += [line(n + 98, "Lenoir", "5.00", iban="FR1") for n in range(4)]
    result = payees_of(args(new, currency="EUR"), "lines", args(old, currency="EUR"))
    assert result is not None
    assert [(row.name, row.was, row.is_new, row.other_account) for row in result.rows] == [
        ("Nord", "€5.00", False, True),
        ("Tauern", "€45.00", False, False),
        ("Lenoir", "", True, False),
    ]
    assert (result.new, result.other_accounts, result.was) == (1, 1, "€50.00")


SUPPLIERS = [f"Supplier {n}" for n in range(24)]


def payments_of(month: int) -> dict[str, Any]:
    """90 payments to 24 payees, as of no other month."""
    return {
        "payments": [
            line(
                month * 1_000 + n,
                SUPPLIERS[(n * 7 + month) % 24],
                f"{n + month}.50",
                currency="EUR",
            )
            | {"iban": f"DE{(n * 7 + month) % 24:020}", "due": f"2026-{month:02}-28"}
            for n in range(90)
        ]
    }


def test_ninety_payments_beside_the_last_ones_are_a_page_of_1500_elements(cast: Cast) -> None:
    agent = scene.make_agent()
    client = cast.client("manager")
    before = scene.waiting(cast.workspace, agent, args=payments_of(3))
    verdict = {"proposal_hash": before.proposal_hash, "verdict": "approve", "confirmed": "approve"}
    assert client.post(f"/approvals/{before.id}/decide/", verdict).status_code == 303
    row = scene.waiting(cast.workspace, agent, args=payments_of(4))
    html = client.get(f"/approvals/{row.id}/").content.decode()
    assert 'class="by-payee"' in html
    assert "Compared with the last one" in html
    assert "account changed" not in html
    assert "accounts changed" not in html
    assert len(re.findall(r"<[a-zA-Z]", html)) <= 1_500
