"""The one statement as a plain libpq call: nothing is bent on the way, and it heals by itself."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest
from django.db import (
    DataError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.test.utils import CaptureQueriesContext

from checkpoints.postgres import statements
from checkpoints.postgres.statements import send

pytestmark = pytest.mark.usefixtures("real_db")


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'gp\\_%%'", ())
        return int(cursor.fetchone()[0])


def test_every_kind_of_value_arrives_as_it_is() -> None:
    ident = uuid4()
    text = (
        "SELECT %(a)s::uuid, %(b)s::text, %(c)s::bigint, %(d)s::bytea, %(e)s::text, "
        "%(f)s::boolean, %(g)s::float8, %(b)s::varchar, 'a%%b'"
    )
    values = {
        "a": ident,
        "b": "½ \\ ' %s {\u2028}",
        "c": -(2**62),
        "d": bytes(range(256)),
        "e": None,
        "f": True,
        "g": 1e-300,
    }
    expected = (*values.values(), values["b"], "a%b")
    before = prepared()
    assert [send(text, values) for _ in range(3)] == [expected] * 3
    assert prepared() == before + 1


def test_a_connection_that_a_pool_hands_on_keeps_what_is_prepared() -> None:
    text, before, seen = "SELECT %(a)s::integer - 1", prepared(), []

    def elsewhere() -> None:
        # As a pool does it: the same connection, another thread.
        mine = connections[connection.alias]
        mine.connection, own = inner, mine.connection
        try:
            seen.append(send(text, {"a": 3}))
        finally:
            mine.connection = own
            mine.close()

    assert send(text, {"a": 2}) == (1,)
    inner = connection.connection
    for _ in range(3):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == [(2,)] * 3
    assert send(text, {"a": 2}) == (1,)
    assert prepared() == before + 1


def test_without_a_row_there_is_none() -> None:
    assert send("SELECT 1 WHERE %(a)s::integer = 0", {"a": 1}) is None


@pytest.mark.parametrize("there", ["\0", "cut\0off", "end\0"])
def test_a_text_is_never_cut_at_a_nul(there: str) -> None:
    with pytest.raises(DataError, match="NUL"):
        send("SELECT %(a)s::text", {"a": there})


def test_half_a_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        send("SELECT %(a)s::text", {"a": "\ud800"})


def test_errors_are_djangos_and_the_next_statement_works() -> None:
    text = "INSERT INTO gp_duty (name, owner) VALUES (%(a)s::varchar, '') RETURNING name"
    assert send(text, {"a": "once"}) == ("once",)
    with pytest.raises(IntegrityError, match="gp_duty_pkey"):
        send(text, {"a": "once"})
    assert send(text, {"a": "twice"}) == ("twice",)
    with pytest.raises(ProgrammingError):
        send("SELECT nothing FROM nowhere", {})


def test_a_table_that_changed_is_met_once() -> None:
    """A deploy may add a column under a running worker; the server then refuses the old plan."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (a integer); INSERT INTO changing VALUES (1)")
    text = "SELECT * FROM changing WHERE a = %(a)s::integer"
    assert send(text, {"a": 1}) == (1,)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE changing ADD b integer DEFAULT 2")
    with pytest.raises(Exception, match="cached plan"):
        send(text, {"a": 1})
    assert send(text, {"a": 1}) == (1, 2)


def test_statements_that_were_forgotten_are_prepared_again() -> None:
    """Psycopg forgets all of them after a savepoint was undone."""
    text = "SELECT %(a)s::integer * 3"
    assert send(text, {"a": 1}) == (3,)
    with transaction.atomic(), transaction.atomic():
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert send(text, {"a": 2}) == (6,)


def test_a_lost_connection_says_so_and_the_next_call_has_a_new_one() -> None:
    (pid,) = send("SELECT pg_backend_pid()", {}) or (0,)
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", (pid,))
    other.close()
    with pytest.raises(OperationalError):
        send("SELECT pg_backend_pid()", {})
    connection.close()
    (again,) = send("SELECT pg_backend_pid()", {}) or (0,)
    assert again not in (0, pid)


def test_in_a_transaction_it_is_undone_with_it() -> None:
    text = "INSERT INTO gp_duty (name, owner) VALUES (%(a)s::varchar, '') RETURNING name"
    with transaction.atomic():
        assert send(text, {"a": "undone"}) == ("undone",)
        transaction.set_rollback(True)
    assert send("SELECT count(*) FROM gp_duty WHERE name = 'undone'", {}) == (0,)


def test_who_watches_statements_sees_them() -> None:
    with CaptureQueriesContext(connection) as seen:
        send("SELECT %(a)s::integer", {"a": 7})
    assert len(seen) == 1
    watched = []

    def watch(execute, sql, params, many, context):  # type: ignore[no-untyped-def]
        watched.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        send("SELECT %(a)s::integer", {"a": 7})
    assert watched == ["SELECT %(a)s::integer"]


def test_a_pooler_that_keeps_no_statements_gets_none() -> None:
    connection.ensure_connection()
    before, saved = prepared(), connection.connection.prepare_threshold
    connection.connection.prepare_threshold = None
    try:
        assert send("SELECT %(a)s::integer + 41", {"a": 1}) == (42,)
    finally:
        connection.connection.prepare_threshold = saved
    assert prepared() == before


def test_an_unknown_type_takes_the_ordinary_way() -> None:
    from decimal import Decimal

    assert Decimal not in statements._FORMATS
    assert send("SELECT %(a)s::numeric", {"a": Decimal("1.10")}) == (Decimal("1.10"),)
