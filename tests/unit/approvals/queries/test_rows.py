"""Requests as they are read."""

from __future__ import annotations

import pytest
from django.db import connection

from approvals.queries import rows

pytestmark = pytest.mark.django_db


def test_the_statement_reads_the_fields_in_their_order() -> None:
    """Prepared reads answer without names of columns."""
    with connection.cursor() as cursor:
        cursor.execute(f"{rows.SQL.request} WHERE false")
        assert tuple(column.name for column in cursor.description) == rows.COLUMNS
