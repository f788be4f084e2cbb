"""A list of objects is edited as a table: one cell changes one value, all others stay exactly."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.template.loader import render_to_string

from dashboard.fields import form as fields
from tests.unit.dashboard.fields.generated import opened
from tests.unit.dashboard.html.tables.test_payees import payments_of

pytestmark = pytest.mark.requirement("F02")

LINE: dict[str, Any] = {
    "type": "object",
    "required": ["to", "amount"],
    "x-order": ["to", "amount", "rate", "urgent", "note"],
    "properties": {
        "note": {"type": "string"},
        "amount": {"type": "string"},
        "to": {"type": "string"},
        "urgent": {"type": "boolean"},
        "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
}
SCHEMA = {"type": "object", "properties": {"lines": {"type": "array", "items": LINE}}}
ROWS: list[dict[str, Any]] = [
    {"to": "Ada", "amount": "10.00", "rate": None, "note": "", "own": [1]},
    {"to": " Ben ", "amount": "5", "urgent": False},
    {"to": "Cy", "amount": "1", "rate": 1.0, "urgent": True, "note": "x"},
]
VALUES = {"lines": ROWS}


def sent(**cells: str) -> dict[str, str]:
    form = opened(fields.build(SCHEMA, VALUES, omittable=True))
    assert form.sent["f-lines"] == "rows"
    texts = {name: text for name, text in form.sent.items() if name[:2] != "d-"}
    return texts | {name.replace("_", "-"): text for name, text in cells.items()}


def read(texts: dict[str, str]) -> tuple[Any, dict[str, str]]:
    return fields.parse(SCHEMA, VALUES, texts, omittable=True)


def test_an_untouched_table_is_no_change() -> None:
    assert read(sent()) == ({}, {})
    assert fields.touched(SCHEMA, VALUES, sent(), omittable=True) == {}
    (field,) = fields.build(SCHEMA, VALUES, omittable=True)
    assert list(field.columns) == LINE["x-order"]


@pytest.mark.rubric(28)
def test_one_cell_changes_one_value() -> None:
    changes, problems = read(sent(t_1_1_lines="7.50"))
    assert problems == {}
    assert changes == {"lines": [ROWS[0], {**ROWS[1], "amount": "7.50"}, ROWS[2]]}
    assert [list(row) for row in changes["lines"]] == [list(row) for row in ROWS]
    assert fields.channel_of("t-1-1-lines") == fields.channel_of("d-1-lines") == "lines"


@pytest.mark.rubric(28)
def test_rows_are_removed_and_added() -> None:
    changes, problems = read(sent(d_0_lines="1", t_3_0_lines="Di", t_3_1_lines="2"))
    assert problems == {}
    assert changes == {"lines": [*ROWS[1:], {"to": "Di", "amount": "2"}]}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"t_3_0_lines": "Di"}, "Row 4, amount: This is required."),
        ({"t_2_2_lines": "many"}, "Row 3, rate: “many” is not a number."),
    ],
)
def test_a_bad_cell_is_named_by_its_row(cells: dict[str, str], words: str) -> None:
    changes, problems = read(sent(**cells))
    assert changes == {}
    assert problems == {"lines": words}


def test_json_in_its_place_is_still_read_and_other_lists_stay_json() -> None:
    assert read({"f-lines": "[]"}) == ({"lines": []}, {})
    (field,) = fields.build(SCHEMA, {"lines": [{"to": "a\nb", "amount": "1"}]}, omittable=True)
    assert field.kind == "json"


def test_ninety_lines_are_a_table_of_few_elements() -> None:
    parts = {name: {"type": "string"} for name in payments_of(1)["payments"][0]}
    lines = {"type": "array", "items": {"type": "object", "properties": parts}}
    form = fields.build({"properties": {"payments": lines}}, payments_of(1), omittable=True)
    html = render_to_string("components/field.html", {"field": form[0]})
    assert form[0].kind == "table"
    assert len(re.findall(r"<[a-zA-Z]", html)) <= 1_450
