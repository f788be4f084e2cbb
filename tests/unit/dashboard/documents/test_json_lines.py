"""JSON to read on paper: the same value, with an item a line."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dashboard.documents.json_lines import ROW, WIDTH, json_lines

PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=60)
VALUES = st.recursive(
    PLAIN, lambda v: st.lists(v, max_size=6) | st.dictionaries(st.text(max_size=8), v, max_size=6)
)


@given(VALUES)
def test_it_is_the_same_value(value: object) -> None:
    assert json.loads(json_lines(value)) == value


def test_a_list_of_objects_is_a_line_each() -> None:
    invoices = [{"number": f"R-{n}", "payee": "ACME GmbH", "amount": "12.00"} for n in range(77)]
    lines = json_lines({"invoices": invoices, "total": "924.00"}).splitlines()
    assert len(lines) == 77 + 5
    assert lines[2].strip() == '{"amount": "12.00", "number": "R-0", "payee": "ACME GmbH"},'


def test_what_is_too_long_for_a_line_is_parted() -> None:
    short, long = {"a": [1, 2]}, {"a": ["x" * WIDTH]}
    assert json_lines(short) == '{"a": [1, 2]}'
    assert json_lines(long).count("\n") == 2  # the object is parted, its plain list is not
    assert json_lines(["x" * ROW]).count("\n") == 2
