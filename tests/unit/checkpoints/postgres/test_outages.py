"""An error of the database is told as what it is: away, full, busy, or a refused value."""

from __future__ import annotations

import psycopg
import pytest
from django.db import DatabaseError, OperationalError, connection

from checkpoints.postgres import outages

OUTAGES = {
    "53100": "disk is full",
    "53200": "out of memory",
    "53300": "no more connections",
    "25006": "read-only",
    "55P03": "Somebody else",
    "57014": "too long",
    "42501": "lacks a right",
    "42P01": "lacks a table",
    "57P01": "does not answer",
    "08006": "does not answer",
}
REFUSING = ("22001", "22P05", "23505", "23514", "54000", "54001")


def raised(code: str) -> DatabaseError:
    """The error that Django raises when the server answers with this SQLSTATE."""
    with connection.cursor() as cursor, pytest.raises(DatabaseError) as caught:
        cursor.execute(f"DO $$BEGIN RAISE EXCEPTION 'here' USING ERRCODE = '{code}'; END$$")
    return caught.value


@pytest.mark.parametrize("code", OUTAGES)
def test_an_outage_says_what_is_the_matter(real_db: str, code: str) -> None:
    error = raised(code)
    assert outages.sqlstate(error) == code
    assert outages.is_outage(error)
    assert not outages.refuses_value(error)
    assert OUTAGES[code] in outages.outage(error)


@pytest.mark.parametrize("code", REFUSING)
def test_a_refused_value_is_no_outage(real_db: str, code: str) -> None:
    assert outages.refuses_value(raised(code))


def test_a_lost_connection_has_no_code(real_db: str) -> None:
    with connection.cursor() as cursor, pytest.raises(OperationalError) as caught:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    connection.close()
    assert outages.is_outage(caught.value)
    assert outages.is_outage(OperationalError("no answer"))
    assert outages.outage(OperationalError("no answer")) == outages.AWAY
    assert not outages.is_outage(ValueError("another thing"))
    assert outages.sqlstate(psycopg.errors.DiskFull()) == "53100"
