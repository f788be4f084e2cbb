"""Indexes of our tables: a statement needs each, and none does the work of another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.db import connection, transaction

from tests.support.cast import Cast, make_cast
from tests.unit.checkpoints.builders import rows

from .index_statements import STATEMENTS, Filled, filled

# What the server says of each statement that it executes, those of functions and constraints too.
_EXPLAINED = {
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_level": "notice",
    # A table of a test is too small for the planner to look into an index.
    "enable_seqscan": "off",
}
_INDEXES = """
SELECT c.relname, t.relname, m.amname, x.indisunique,
  coalesce(pg_get_expr(x.indpred, x.indrelid), ''),
  ARRAY(SELECT pg_get_indexdef(x.indexrelid, n, true) FROM generate_series(1, x.indnkeyatts) n),
  ARRAY(SELECT o.opcname::text FROM unnest(x.indclass) k JOIN pg_opclass o ON o.oid = k)
FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am m ON m.oid = c.relam WHERE t.relname LIKE 'gp\\_%%' ORDER BY 2, 1
"""


@pytest.fixture
def own_tables(real_db: str) -> Iterator[Cast]:
    """People in a database of their own: the planner goes by sizes and statistics."""
    cast = make_cast()
    with transaction.atomic():
        yield cast
        transaction.set_rollback(True)


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


def test_the_index_is_whole_wherever_making_it_anew_was_cut_short(real_db: str) -> None:
    made = import_module("checkpoints.migrations.0005_signals_on_record")
    for done in range(len(made.STATEMENTS) + 1):
        for statement in (*made.STATEMENTS[:done], *made.STATEMENTS):
            rows(statement)
        left = rows(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid "
            "WHERE relname LIKE 'gp\\_event\\_notable%%'"
        )
        assert left == [("gp_event_notable", True)], done


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_no_index_is_for_a_like_that_nobody_asks() -> None:
    # Django adds one to each unique text.
    of_likes = [one.name for one in indexes() if "varchar_pattern_ops" in one.classes]
    assert of_likes == []


def indexes_used(send: Callable[[], object]) -> set[str]:
    """The indexes in the plans of all statements that a call sends; what it writes is undone."""
    plans: list[str] = []

    def note(notice: Any) -> None:
        plans.append(notice.message_primary or "")

    rows("LOAD 'auto_explain'")
    with transaction.atomic():
        for name, value in _EXPLAINED.items():
            rows(f"SET LOCAL {name} = '{value}'")
        connection.connection.add_notice_handler(note)
        try:
            with transaction.atomic():
                send()
                transaction.set_rollback(True)
        finally:
            connection.connection.remove_notice_handler(note)
        transaction.set_rollback(True)
    return set(re.findall(r"(?:using|Bitmap Index Scan on) (\w+)", "\n".join(plans)))


@pytest.mark.django_db
def test_each_index_is_named_by_a_statement() -> None:
    needed = {one.name for one in indexes() if not one.is_unique}
    assert sorted(needed - set(STATEMENTS)) == [], "name the statement that needs them"
    assert sorted(set(STATEMENTS) - needed) == [], "are not there, or unique"


def unused_of(there: Filled, names: Iterable[str]) -> dict[str, list[str]]:
    """Those of these indexes that the plan of their statement leaves out: {name: those it uses}."""
    used = {name: indexes_used(partial(STATEMENTS[name], there)) for name in names}
    return {name: sorted(others) for name, others in used.items() if name not in others}


@pytest.mark.slow
def test_each_index_is_in_the_plan_of_its_statement(own_tables: Cast) -> None:
    assert unused_of(filled(own_tables), STATEMENTS) == {}
