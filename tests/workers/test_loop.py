"""What a slot does first: take the thread, on a connection that may have died meanwhile."""

from __future__ import annotations

from pathlib import Path

import psycopg
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from workers import loop

from . import samples
from .conftest import bench_of


def test_taking_asks_once_on_a_warm_connection(
    real_db: str, tmp_path: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    thread = bench_of(samples).start(folder=str(tmp_path), rounds=1)
    connection.close_if_unusable_or_obsolete()  # what the fixup does between two tasks
    with django_assert_num_queries(1):
        work = loop.take(thread)
    assert work is not None
    assert loop.take(thread) is None


def test_a_connection_that_died_between_two_tasks_is_replaced(real_db: str, tmp_path: Path) -> None:
    thread = bench_of(samples).start(folder=str(tmp_path), rounds=1)
    connected = connection.settings_dict
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    with psycopg.connect(
        host=connected["HOST"], dbname=connected["NAME"], user=connected["USER"]
    ) as other:
        other.execute("SELECT pg_terminate_backend(%s, 1000)", (pid,))
    connection.close_if_unusable_or_obsolete()
    work = loop.take(thread)
    assert work is not None
    assert work.fence == 1
