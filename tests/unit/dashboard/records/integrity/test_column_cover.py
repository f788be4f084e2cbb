"""Every column of every model is in one list: proved, derived, or why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

from dashboard.records.integrity import column_cover

from .altered_columns import FREE, OF_THREAD, TABLES
from .settings_on_record.test_settings_proof import SWEPT

pytestmark = pytest.mark.requirement("E11")
PAGE = Path(__file__).parents[5] / "docs" / "columns.md"
HOW = """
Say in dashboard/records/integrity/column_reasons.py what verification does with these columns:
- PROVED: it is folded from the log and compared. A row of settings is, once its table is registered
  in approvals/recorded_tables.py (or that of checkpoints, dashboard) and each change calls
  store.log_setting with a RowChange; such columns need no entry. A column of a thread's row or
  of a request is, once checkpoints/chain/thread_row.py or approvals/verification/approvals.py
  compares it.
- DERIVED: it follows from proved columns, or is compared with them in another form.
- NOT_COVERED: the reason why nobody is deceived when it is altered.
Then write docs/columns.md anew: ./manage.py verify --columns > docs/columns.md
"""


def test_every_column_is_proved_or_derived_or_says_why_not() -> None:
    assert column_cover.problems() == [], HOW


@pytest.mark.django_db
def test_every_table_of_the_database_is_in_the_list() -> None:
    """Also those that packages make: nothing steers from a table that nobody has thought of."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p', 'm', 'f') "
            "AND c.relnamespace = current_schema()::regnamespace"
        )
        there = {name for (name,) in cursor.fetchall()}
    assert there == {table for table, _ in column_cover.model_columns()}, HOW


def test_the_published_page_is_the_list() -> None:
    assert PAGE.read_text() == column_cover.page(), HOW


def test_each_table_with_proved_columns_is_swept() -> None:
    tables = {c.table for c in column_cover.columns() if c.cover == "proved"}
    assert tables == set(TABLES) | {"gp_thread"} | set(SWEPT), HOW


def test_the_sweep_of_a_thread_alters_what_is_called_proved() -> None:
    assert column_cover.proved("gp_thread") == OF_THREAD, HOW
    for table in TABLES:
        free = {column for of, column in FREE if of == table}
        listed = {c.name for c in column_cover.columns() if c.table == table}
        assert column_cover.proved(table) == listed - free, HOW
