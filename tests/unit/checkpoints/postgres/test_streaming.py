"""A long answer is taken row by row; whatever happens, the connection is as good as before."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkpoints.postgres.reads import fetch, stream

pytestmark = pytest.mark.usefixtures("real_db")
SERIES = "SELECT n, NULL::text, 'é%%' FROM generate_series(1, %s::integer) n"


def taken(text: str, *values: Any) -> list[tuple[bytes | None, ...]]:
    results: list[tuple[bytes | None, ...]] = []
    stream((text, values), lambda *row: results.append(row))
    return results


def backend() -> int:
    ((pid,),) = fetch("SELECT pg_backend_pid()", ())
    return int(pid)


EXPECTED = [(b"1", None, "é%".encode()), (b"2", None, "é%".encode())]


def test_rows_come_as_texts_in_their_order() -> None:
    for _ in range(2):  # prepared, and then used again
        assert taken(SERIES, 2) == EXPECTED
        assert taken(SERIES, 0) == []
    assert len(taken(SERIES, 3_000)) == 3_000


@pytest.mark.slow
def test_the_first_row_is_taken_before_the_last_is_made() -> None:
    seen: list[float] = []
    slow = "SELECT repeat('x', 9000), pg_sleep(0.3) FROM generate_series(1, 5)"
    stream((slow, ()), lambda *row: seen.append(time.monotonic()))
    assert seen[-1] > seen[0] + 0.1


def test_other_threads_go_on_meanwhile() -> None:
    """Libpq waits with the interpreter in its hand; a lease whose heartbeat stops runs out."""
    beats, done = [0], threading.Event()

    def beat() -> None:
        while not done.wait(0.005):
            beats[0] += 1

    other = threading.Thread(target=beat)
    other.start()
    try:
        slow = "SELECT pg_sleep(1), %s::integer"
        seen: list[int] = []
        before = beats[0]
        stream((slow, (1,)), lambda *row: seen.append(beats[0]))
    finally:
        done.set()
        other.join()
    assert seen[0] - before > 3  # it is one at most while the interpreter is held


def test_in_a_transaction_and_when_watched_the_ordinary_cursor_does_it() -> None:
    with transaction.atomic():
        assert taken(SERIES, 2) == EXPECTED
    with CaptureQueriesContext(connection) as seen:
        assert taken(SERIES, 2) == EXPECTED
    assert len(seen) == 1


def test_what_the_taker_raises_comes_out_and_the_next_call_works() -> None:
    rows = []

    def refuse(*row: Any) -> None:
        rows.append(row)
        raise LookupError("no more")

    pid = backend()
    with pytest.raises(LookupError, match="no more"):
        stream((SERIES, (500,)), refuse)
    assert len(rows) == 1
    assert (taken(SERIES, 2), backend()) == (EXPECTED, pid)


def test_one_that_is_interrupted_leaves_no_answer_behind() -> None:
    def interrupt(*row: Any) -> None:
        raise KeyboardInterrupt

    pid = backend()
    with pytest.raises(KeyboardInterrupt):
        stream((SERIES, (500,)), interrupt)
    connection.close()
    assert taken(SERIES, 2) == EXPECTED
    assert backend() != pid


def test_one_that_fails_says_why_and_the_next_call_works() -> None:
    pid = backend()
    with pytest.raises(DataError, match="division by zero"):
        taken("SELECT 1 / (%s::integer - n) FROM generate_series(1, 5) n", 3)
    with pytest.raises(ProgrammingError, match="nowhere"):
        taken("SELECT a FROM nowhere WHERE a = %s::integer", 1)
    assert (taken(SERIES, 2), backend()) == (EXPECTED, pid)


def test_a_statement_that_was_forgotten_is_prepared_again() -> None:
    assert taken(SERIES, 2) == EXPECTED
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert taken(SERIES, 2) == EXPECTED


def test_a_connection_lost_on_the_way_says_so_and_the_next_call_has_a_new_one() -> None:
    pid = backend()
    suicide = (
        "SELECT repeat('x', 9000), CASE WHEN n = 3 THEN pg_terminate_backend(pg_backend_pid()) END "
        "FROM generate_series(1, %s::integer) n"
    )
    with pytest.raises(OperationalError):
        taken(suicide, 1_000)
    connection.close()
    assert backend() != pid
    assert taken(SERIES, 2) == EXPECTED
