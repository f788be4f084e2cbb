"""Indexes of our tables: none whose work another one does, none for questions that nobody asks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.django_db

_INDEXES = """
SELECT c.relname, t.relname, m.amname, x.indisunique,
  coalesce(pg_get_expr(x.indpred, x.indrelid), ''),
  ARRAY(SELECT pg_get_indexdef(x.indexrelid, n, true) FROM generate_series(1, x.indnkeyatts) n),
  ARRAY(SELECT o.opcname::text FROM unnest(x.indclass) k JOIN pg_opclass o ON o.oid = k)
FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am m ON m.oid = c.relam WHERE t.relname LIKE 'gp\\_%%' ORDER BY 2, 1
"""


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    table: str
    method: str
    is_unique: bool
    predicate: str
    columns: list[str]
    classes: list[str]

    def is_done_by(self, other: Index) -> bool:
        """Answer True where the other begins with these columns, for the same rows."""
        return (
            other.table == self.table
            and other.name != self.name
            and other.method == self.method == "btree"
            and other.predicate in ("", self.predicate)
            and (self.predicate == other.predicate or not self.predicate)
            and other.columns[: len(self.columns)] == self.columns
            and (other.columns != self.columns or self.name > other.name or other.is_unique)
        )


def indexes() -> list[Index]:
    return [Index(*row) for row in rows(_INDEXES)]


def test_no_index_is_the_beginning_of_another() -> None:
    every = indexes()
    assert len(every) > 100
    doubled = [
        f"{one.name}: {other.name}"
        for one in every
        if not one.is_unique
        for other in every
        if one.is_done_by(other)
    ]
    assert doubled == []


def test_no_index_is_for_a_like_that_nobody_asks() -> None:
    # Django adds one to each unique text.
    of_likes = [one.name for one in indexes() if "varchar_pattern_ops" in one.classes]
    assert of_likes == []
