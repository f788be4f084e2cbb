"""Rows 4 to 7 and 10 without a clock: bytes, growth, queries, write transactions, statements."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.budgets import BUDGETS
from benchmarks.rows import clients, fork, size, state, timeline
from benchmarks.servers import without_autovacuum

pytestmark = pytest.mark.usefixtures("real_db")


@pytest.mark.slow
def test_bytes_are_linear_in_what_is_added() -> None:
    limits = BUDGETS[4].parts
    connection.ensure_connection()
    with without_autovacuum(connection.connection):
        size.without_activity(20)  # the first pages of every table
        tenth, whole = size.without_activity(100), size.without_activity(1_000)
    assert 1e6 < whole <= limits["bytes"].limit * 1e6
    assert whole / tenth <= limits["growth"].limit


@pytest.mark.slow
def test_recorded_activities_grow_no_faster() -> None:
    limits = BUDGETS[4].parts
    connection.ensure_connection()
    with without_autovacuum(connection.connection):
        size.with_activity(100)  # the first pages of every table, and its map of free space
        tenth, whole = size.with_activity(100), size.with_activity(1_000)
    assert 2e6 < whole <= limits["bytes_with_activity"].limit * 1e6
    assert whole / tenth <= limits["growth_with_activity"].limit


@pytest.mark.slow
def test_a_state_is_one_query_and_a_fork_one_write_whatever_the_length() -> None:
    written, requests = [], []
    for steps in (20, 400):
        thread = state.thread_of(steps)
        for number in state.places(steps):
            assert state.queries_of_a_read(thread, number) == BUDGETS[5].parts["queries"].limit
        connection.ensure_connection()
        with without_autovacuum(connection.connection):  # its transactions are none of the fork's
            written.append(fork.written(thread, steps // 2, rounds=400))
        with CaptureQueriesContext(connection) as seen:
            fork.forked(thread, steps // 2)
        requests.append(len(seen))
    (few_xids, few_bytes), (many_xids, many_bytes) = written
    assert few_xids == many_xids == BUDGETS[6].parts["write_transactions"].limit
    # Those of the first forks have whole pages of indexes in them that the next ones fill.
    assert many_bytes <= few_bytes
    assert many_bytes <= BUDGETS[6].parts["bytes"].limit
    assert requests[0] == requests[1]


def test_fifty_rows_of_a_timeline_are_one_query_and_no_state() -> None:
    thread = state.thread_of(100)
    for read in timeline.readers(thread).values():
        assert timeline.statements(read) == BUDGETS[7].parts["queries"].limit
    with timeline.materialised() as counted:
        for read in timeline.readers(thread).values():
            read()
        text = timeline.fragment(thread, timeline.workspace())
        assert counted == []
        state.read_ms(thread, [100], reads=1)
        assert counted
    assert text.count("<tr id=") == timeline.ROWS


def test_pgbench_is_given_the_statement_of_a_step() -> None:
    text, thread = clients.script()
    assert text.startswith("\\set n :n + 1\n")
    assert "%(" not in text
    statement = text.partition("\n")[2]
    assert all(name in statement for name in (":n::integer", ":client_id::integer"))
    assert str(thread) not in statement
