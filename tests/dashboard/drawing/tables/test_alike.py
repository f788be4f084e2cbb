"""Lists of alike rows in a proposal: which are tables; nothing in them is lost or trusted."""

from __future__ import annotations

from typing import Any

import pytest
from django.template import Context, Template

from dashboard.drawing.tables.alike import ROWS_MAX, lists

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
    assert [cell.shown for cell in result.rows[0].cells][:3] == ["Ada", "1200.00", "R-1"]
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


def test_of_very_many_rows_the_rest_is_counted() -> None:
    rows = [{"n": n, "of": ["a", {}]} for n in range(ROWS_MAX + 7)]
    (result,) = lists({"rows": rows})
    assert (len(result.rows), result.more, result.total) == (ROWS_MAX, 7, ROWS_MAX + 7)
    assert "2 items" in result.rows[0].cells[1].shown


def test_the_tag_gives_them_to_a_template() -> None:
    text = "{% load alike %}{% alike_lists v as t %}{% for r in t %}{{ r.name }}{% endfor %}"
    assert Template(text).render(Context({"v": {"payments": PAYMENTS}})) == "payments"
