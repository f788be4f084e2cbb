"""Cells that carry the name of their column: all of a cell stays, and a name is only text."""

from __future__ import annotations

import pytest
from django.utils.safestring import mark_safe

from dashboard.html.templatetags.stacks import labelled


def test_each_cell_gets_its_columns_name_and_its_role() -> None:
    cells = [
        mark_safe('<th scope="row" class="field-at"><a href="/x/">now</a></th>'),
        mark_safe('<td class="field-kind"><td>kind</td></td>'),
        mark_safe("no cell"),
    ]
    headers = [{"text": "at"}, {"text": '"><b>\u202e'}, {"text": "more"}]
    first, second, third = labelled(cells, headers)
    assert first == (
        '<th role="rowheader" data-label="At" scope="row" class="field-at">'
        '<a href="/x/">now</a></th>'
    )
    assert second.startswith('<td role="cell" data-label="&quot;&gt;&lt;b&gt;')
    assert "\u202e" not in second
    assert second.count("data-label") == 1
    assert third == "no cell"


def test_a_column_without_a_name_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="zip"):
        labelled([mark_safe("<td></td>")], [])
