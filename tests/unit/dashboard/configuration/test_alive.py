"""Connections of the pool: asked now and then, and never handed out once the server ended them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from psycopg_pool import ConnectionPool

from dashboard.configuration import alive
from tests.unit.checkpoints.builders import one

pytestmark = pytest.mark.django_db


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The backends that were asked over the network."""
    results: list[int] = []
    before = ConnectionPool.check_connection

    def counted(conn: psycopg.Connection) -> None:
        results.append(conn.info.backend_pid)
        before(conn)

    monkeypatch.setattr(ConnectionPool, "check_connection", staticmethod(counted))
    return results


@pytest.fixture
def pool(checked: list[int]) -> Iterator[ConnectionPool]:
    params = connection.get_connection_params() | {"autocommit": True}
    with ConnectionPool(kwargs=params, min_size=1, max_size=1, check=alive.check) as made:
        yield made


def use(pool: ConnectionPool) -> int:
    with pool.connection() as conn:
        row = conn.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])


def test_what_answered_lately_is_not_asked_again(
    pool: ConnectionPool, checked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = {use(pool) for _ in range(5)}
    assert checked == list(pids)
    monkeypatch.setattr(alive, "ASKED_SECONDS", -1.0)  # as if that were long ago
    use(pool)
    assert checked == list(pids) * 2


def test_what_the_server_ended_is_never_handed_out(pool: ConnectionPool) -> None:
    for _ in range(3):
        before = use(pool)
        one("SELECT pg_terminate_backend(%s, 5000)", (before,))
        assert use(pool) != before
