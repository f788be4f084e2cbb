"""The test bench itself: databases are real, fresh and quick."""

import threading
import time

import pytest
from django.db import connection
from django.test import Client

from tests.support.static import LooksOnce


def current() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize("time_round", [1, 2])
def test_real_db_is_fresh_and_seen_by_threads(real_db: str, time_round: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE only_here (x int)")
    seen = []

    def look() -> None:
        seen.append(current())
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [real_db] == [current()]


def test_ordinary_db(db: None) -> None:
    assert current() == "test_gatepost"


def test_a_real_database_takes_less_than_a_moment(request: pytest.FixtureRequest) -> None:
    started = time.monotonic()
    request.getfixturevalue("real_db")
    assert time.monotonic() - started < 1.0


def test_each_client_is_served_static_files() -> None:
    """What the first one found is kept for the next; see tests.support.static."""
    for _ in range(2):
        answer = Client().get("/static/dashboard/css/tokens.css")
        assert answer.status_code == 200
        assert b"--" in b"".join(answer)
    assert LooksOnce.loaded
