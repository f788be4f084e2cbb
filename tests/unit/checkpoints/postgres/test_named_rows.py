"""Rows whose columns are attributes."""

from __future__ import annotations

import pytest

from checkpoints.postgres.named_rows import fetch_named

pytestmark = pytest.mark.django_db


def test_columns_are_attributes_and_places() -> None:
    (row,) = fetch_named("SELECT %s::integer AS waiting, 'x'::text, 2 AS due", (1,))
    assert (row.waiting, row.due) == (1, 2)
    assert row == (1, row.text, 2)
    assert fetch_named("SELECT 1 AS one WHERE false") == []
