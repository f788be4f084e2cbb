"""Reads as plain libpq calls: several in one round trip, whole or not at all; what ended is met."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkpoints.postgres.reads import fetch, fetch_all
from checkpoints.postgres.statements import send_and_fetch

pytestmark = pytest.mark.usefixtures("real_db")
SERIES = "SELECT n, 'a%%b' FROM generate_series(1, %s::integer) n"


def backend() -> int:
    ((pid,),) = fetch("SELECT pg_backend_pid()", ())
    return int(pid)


def end(pid: int) -> None:
    """Somebody else ends this connection's process."""
    other: Any = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    other.close()


def test_each_statement_gets_its_own_rows() -> None:
    ident = uuid4()
    one, none, two = fetch_all(
        (SERIES, (3,)), (SERIES, (0,)), ("SELECT %s::uuid, %s::text", (ident, None))
    )
    assert one == [(1, "a%b"), (2, "a%b"), (3, "a%b")]
    assert none == []
    assert two == [(ident, None)]
    assert fetch(SERIES, (1,)) == [(1, "a%b")]


@pytest.mark.nightly
def test_a_lot_is_read_while_other_threads_go_on() -> None:
    turned = threading.Event()
    other = threading.Thread(target=turned.set)
    big = "SELECT repeat('x', 1000), pg_sleep(0.0001) FROM generate_series(1, %s::integer)"
    starting = threading.Timer(0.05, other.start)
    starting.start()
    rows, more = fetch_all((big, (3_000,)), (big, (10,)))
    assert (len(rows), len(more)) == (3_000, 10)
    assert turned.is_set()


def test_they_are_sent_as_one() -> None:
    query = "SELECT transaction_timestamp()::text, %s::integer"
    first, second = fetch_all((query, (1,)), (query, (2,)))
    # One implicit transaction: the server got the end of both before it answered.
    assert first[0][0] == second[0][0]
    assert fetch(query, (1,))[0][0] != first[0][0]


def test_a_write_and_what_is_asked_after_it_are_one_transaction() -> None:
    insert = (
        "INSERT INTO gp_duty (name, owner) VALUES (%(name)s::varchar, '') "
        "ON CONFLICT DO NOTHING RETURNING name"
    )
    ask = ("SELECT count(*) FROM gp_duty WHERE name = %s::varchar", ("along",))
    for _ in range(2):  # prepared, and then used again
        fetch("DELETE FROM gp_duty WHERE name = %s::varchar RETURNING name", ("along",))
        assert send_and_fetch(insert, {"name": "along"}, ask, ask) == (("along",), [[(1,)], [(1,)]])
    assert send_and_fetch(insert, {"name": "along"}, ask) == (None, [[(1,)]])
    with CaptureQueriesContext(connection) as seen:
        assert send_and_fetch(insert, {"name": "along"}, ask) == (None, [[(1,)]])
    assert [query["sql"].split()[0] for query in seen] == ["BEGIN", "INSERT", "SELECT", "COMMIT"]


@pytest.mark.parametrize("watched", [False, True])
def test_a_question_that_fails_takes_the_write_back(watched: bool) -> None:
    insert = "INSERT INTO gp_duty (name, owner) VALUES (%(name)s::varchar, '') RETURNING name"
    with (
        CaptureQueriesContext(connection) if watched else nullcontext(),
        pytest.raises(DataError, match="division by zero"),
    ):
        send_and_fetch(insert, {"name": "never"}, ("SELECT 1 / %s::integer", (0,)))
    assert fetch("SELECT 1 FROM gp_duty WHERE name = %s::varchar", ("never",)) == []


def test_one_that_fails_says_why_and_the_next_call_works() -> None:
    with pytest.raises(ProgrammingError, match="nowhere"):
        fetch_all((SERIES, (2,)), ("SELECT a FROM nowhere WHERE a = %s::integer", (1,)))
    with pytest.raises(DataError, match="division by zero"):
        fetch_all(("SELECT 1 / %s::integer", (0,)), (SERIES, (2,)))
    assert fetch_all((SERIES, (1,)), (SERIES, (0,))) == [[(1, "a%b")], []]


def test_statements_that_were_forgotten_are_prepared_again() -> None:
    request = ((SERIES, (1,)), ("SELECT %s::integer + 5", (1,)))
    assert fetch_all(*request) == [[(1, "a%b")], [(6,)]]
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert fetch_all(*request) == [[(1, "a%b")], [(6,)]]


def test_a_connection_lost_on_the_way_says_so_and_the_next_call_has_a_new_one() -> None:
    pid = backend()
    suicide = "SELECT pg_terminate_backend(pg_backend_pid()), %s::integer"
    with pytest.raises(OperationalError):
        fetch_all((SERIES, (1,)), (suicide, (1,)))
    connection.close()
    assert backend() != pid
    assert fetch_all((SERIES, (1,)), (SERIES, (0,))) == [[(1, "a%b")], []]


def test_a_check_that_is_due_costs_no_statement_unless_the_server_ended_its_side() -> None:
    pid = backend()
    checked = []
    with (
        patch.object(connection, "health_check_enabled", True),
        patch.object(connection, "is_usable", lambda: checked.append(1) or False),
    ):
        connection.health_check_done = False
        assert backend() == pid
        assert (checked, connection.health_check_done) == ([], True)

        end(pid)
        connection.health_check_done = False
        assert backend() != pid
        assert checked == [1]


def test_in_a_transaction_and_when_watched_the_ordinary_cursor_does_it() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE only_here (a integer); INSERT INTO only_here VALUES (4)")
        assert fetch("SELECT a FROM only_here", ()) == [(4,)]
        transaction.set_rollback(True)
    with CaptureQueriesContext(connection) as seen:
        assert fetch_all((SERIES, (1,)), (SERIES, (0,))) == [[(1, "a%b")], []]
    assert len(seen) == 2
    assert fetch("SELECT 100 %% %s::integer", (7,)) == [(2,)]
