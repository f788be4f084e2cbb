"""Lists of alike rows in a proposal: which are tables; nothing in them is lost or trusted."""

from __future__ import annotations

from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from approvals.rules.receipts.leaves import under
from dashboard.html.tables.alike import ROWS_MAX, lists
from dashboard.wording.amounts import GROUPED, grouped

PAYMENTS = [
    {"to": "Ada", "amount": "1200.00", "invoice": "R-1", "urgent": False},
    {"to": "<b>Bob</b>\u202e", "amount": "9.90", "invoice": "", "urgent": None},
]


def test_rows_with_the_same_keys_are_a_table_in_their_order() -> None:
    (result,) = lists({"total": "1209.90", "payments": PAYMENTS, "notes": ["a", "b"]})
    assert (result.name, result.total, result.more) == ("payments", 2, 0)
    assert [(c.name, c.numbers) for c in result.columns] == [
        ("to", False), ("amount", True), ("invoice", False), ("urgent", False),
    ]  # fmt: skip
    assert [cell.shown for cell in result.rows[0].cells][:3] == ["Ada", "1,200.00", "R-1"]
    name, _, invoice, urgent = (str(cell.shown) for cell in result.rows[1].cells)
    assert "&lt;b&gt;Bob&lt;/b&gt;" in name
    assert 'class="esc"' in name
    assert (invoice, urgent) == ("–", "–")


@pytest.mark.parametrize(
    "value",
    [
        None, [], "text", [PAYMENTS], {"one": PAYMENTS[:1]}, {"mixed": [PAYMENTS[0], "x"]},
        {"unlike": [PAYMENTS[0], {"to": "Ada"}]}, {"thin": [{"a": 1}, {"a": 2}]},
        {"wide": [{str(n): n for n in range(13)}] * 2}, {"deep": {"payments": PAYMENTS}},
    ],
)  # fmt: skip
def test_all_else_stays_in_the_tree(value: Any) -> None:
    assert lists(value) == []


def test_many_rows_may_lack_keys_and_lie_deeper() -> None:
    rows: list[dict[str, Any]] = [{"n": n, "to": f"P{n}"} for n in range(12)]
    rows[3]["note"], rows[5]["note"] = "b", "a"
    value = {"batch": {"of": "May", "lines": rows}}
    (result,) = lists(value, order="note")
    assert (result.name, result.total, result.of) == ("batch.lines", 12, id(rows))
    assert [column.name for column in result.columns] == ["n", "to", "note"]
    shown = [[str(cell.shown) for cell in row.cells] for row in result.rows]
    assert [row[1] for row in shown[:3]] == ["P5", "P3", "P0"], "those without a note come last"
    assert [row[2] for row in shown[:3]] == ["a", "b", ""]
    (reverse,) = lists(value, order="-note")
    assert [str(row.cells[1].shown) for row in reverse.rows[:3]] == ["P3", "P5", "P0"]
    # Of few rows, or where most cells would be empty, a tree says more.
    assert lists({"batch": {"lines": rows[:8]}}) == []
    assert lists({"lines": rows[:8]}) == []
    assert lists({"lines": [{"n": n, f"k{n}": n} for n in range(11)]}) == []


def test_of_very_many_rows_the_rest_is_counted() -> None:
    rows = [{"n": n, "of": ["a", {}]} for n in range(ROWS_MAX + 7)]
    (result,) = lists({"rows": rows})
    assert (len(result.rows), result.more, result.total) == (ROWS_MAX, 7, ROWS_MAX + 7)
    assert "2 items" in result.rows[0].cells[1].shown


def test_the_tag_gives_them_to_a_template() -> None:
    text = "{% load alike %}{% alike_lists v as t %}{% for r in t %}{{ r.name }}{% endfor %}"
    assert Template(text).render(Context({"v": {"payments": PAYMENTS}})) == "payments"


LINES = [
    {"to": to, "amount": amount, "invoice": invoice}
    for to, amount, invoice in (
        ("Süd", "9.90", "20001"), ("nord", "24963.18", "3"), ("Alp", "100", "100"),
        ("alp", "9.90", "7"),
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("order", "invoices"),
    [
        ("", ["20001", "3", "100", "7"]),
        ("amount", ["20001", "7", "100", "3"]),
        ("-amount", ["3", "100", "20001", "7"]),
        ("to", ["100", "7", "3", "20001"]),
        ("-invoice", ["20001", "100", "7", "3"]),
        ("no such column", ["20001", "3", "100", "7"]),
    ],
)
def test_a_table_is_sorted_by_one_column(order: str, invoices: list[str]) -> None:
    (result,) = lists({"lines": LINES}, order=order)
    assert [row.cells[2].shown for row in result.rows] == invoices
    headings = {c.name: (c.order, c.aria_sort) for c in result.columns}
    for name, (next_order, state) in headings.items():
        by_it = order.removeprefix("-") == name
        assert state == ("" if not by_it else "descending" if order[0] == "-" else "ascending")
        assert next_order == (f"-{name}" if order == name else name)


def test_a_receipt_stays_with_its_row_when_rows_are_sorted() -> None:
    known = SimpleNamespace(
        path="$.lines[1].amount",
        origin="recorded",
        source="read",
        by="",
        url="/x",
        count=0,
        note="",
    )
    (result,) = lists({"lines": LINES}, [known], order="-amount")
    assert [bool(row.mark) for row in result.rows] == [True, False, False, False]


@given(
    name=st.sampled_from(["amount", "total", "count", "invoice", "year", "account"]),
    value=st.one_of(
        st.text(alphabet="0123456789.-, eE+", max_size=18),
        st.integers(-(10**18), 10**18),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    ),
)
def test_separators_are_added_to_amounts_and_counts_and_no_digit_changes(
    name: str, value: object
) -> None:
    shown = grouped(value, name)
    assert shown.replace(",", "") == str(value).replace(",", "")
    assert shown == str(value) or name in GROUPED
    if name in GROUPED and isinstance(value, int) and not isinstance(value, bool):
        assert shown == (f"{value:,}" if abs(value) < 10**15 else str(value))


def test_an_object_of_alike_rows_is_a_table_whose_first_column_has_its_keys() -> None:
    orders = {f"P-{n}": {"to": f"Ada {n}", "amount": f"{n}000.00"} for n in range(9)}
    path = reduce(under, ("batch", "orders", "P-3", "amount"), "$")
    receipt = SimpleNamespace(path=path, origin="agent", source="", by="", url="", count=0, note="")
    (result,) = lists({"batch": {"orders": orders}}, [receipt], order="-key")
    assert (result.name, result.total, result.of) == ("batch.orders", 9, id(orders))
    assert [column.name for column in result.columns] == ["key", "to", "amount"]
    assert [cell.shown for cell in result.rows[0].cells] == ["P-8", "Ada 8", "8,000.00"]
    assert [bool(row.mark) for row in result.rows].index(True) == 5, "the line of its receipt"
    taken = {key: row | {"key": key} for key, row in orders.items()}
    assert lists({"o": taken})[0].columns[0].name == "its key"
    assert not lists({"few": dict(list(orders.items())[:5])})
    assert not lists({"unlike": orders | {"x": 1}})
