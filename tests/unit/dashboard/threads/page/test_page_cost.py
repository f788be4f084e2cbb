"""A look at a thread reads as many rows after 1,500 steps as after 500."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.urls import reverse

from checkpoints import queries, store
from checkpoints.queries import COUNTED, SEARCHED
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_thread, new_activity, one, rows
from tests.unit.checkpoints.queries.test_state_plan import nodes

pytestmark = pytest.mark.django_db

LOGS = {"gp_event", "gp_checkpoint", "gp_activity", "gp_keyframe"}


@contextmanager
def sent() -> Iterator[list[tuple[str, Any]]]:
    """The statements that are sent meanwhile."""
    results: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        results.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        yield results


def rows_read(statements: list[tuple[str, Any]]) -> dict[str, int]:
    """{statement: rows of the logs that it looks at, those that it throws away included}."""
    results: dict[str, int] = {}
    for sql, params in statements:
        if not any(table in sql for table in LOGS):
            continue
        # As in tables of many threads: here one thread is nearly all there is.
        rows("SET LOCAL enable_seqscan = off")
        plan = one(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)[0]["Plan"]
        results[sql] = results.get(sql, 0) + sum(
            (n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"]
            for n in nodes(plan)
            if n.get("Relation Name") in LOGS
        )
    return results


def long_thread(cast: Cast, n_steps: int) -> UUID:
    """A thread whose state stays as large as it is, with an activity per step."""
    thread = make_thread(workspace=cast.workspace)
    driver = drive(thread)
    for n in range(n_steps):
        done = new_activity(driver.work, "look#0")
        store.record_activity(driver.work, done, result={"found": n})
        driver.step(
            {"set": {"goal": str(n)}}, events=[NewEvent(EventKind.VALUE_RECORDED, {"n": n}, "w")]
        )
    store.write_keyframe(thread, n_steps - 3, driver.state | {"goal": str(n_steps - 4)})
    return thread


def limit(sql: str) -> int:
    """What a statement may read by any plan: a search for kinds looks at a part of the log."""
    return SEARCHED + 10 if "split_part" in sql and "LIMIT" in sql else 0


@pytest.mark.nightly
def test_a_page_costs_the_same_at_any_length(cast: Cast) -> None:
    client = cast.client("operator")
    read = {}
    for n_steps in (500, 1_500):
        thread = long_thread(cast, n_steps)
        rows("ANALYZE gp_event, gp_checkpoint, gp_activity, gp_thread")
        for query in ("", "?kind=value", "?event=400"):
            with sent() as statements:
                answer = client.get(reverse("thread", args=[thread]) + query)
            assert answer.status_code == 200
            for sql, n in rows_read(statements).items():
                read[n_steps, query, sql] = n
    assert sum(n for (n_steps, query, _), n in read.items() if n_steps == 500) > COUNTED
    grown = {
        (query, sql): (n, read[1_500, query, sql])
        for (n_steps, query, sql), n in read.items()
        if n_steps == 500 and read[1_500, query, sql] > max(n + 20, limit(sql))
    }
    assert not grown


@pytest.mark.rubric(11)
def test_kinds_are_counted_and_looked_for_in_a_part_of_a_long_log(cast: Cast) -> None:
    thread = make_thread(workspace=cast.workspace)
    store.add_event(thread, NewEvent(EventKind.THOUGHT_RECORDED, {"text": "early"}, "worker:1"))
    last = one("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (thread,))
    rows("SET LOCAL session_replication_role = replica")
    columns = ", ".join(
        name
        for (name,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_event'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('seq', 'kind', 'data')"
        )
    )
    more = 2 * SEARCHED
    rows(
        f"INSERT INTO gp_event (seq, kind, data, {columns}) SELECT {last} + n, 'value.recorded', "
        f"'{{}}', {columns} FROM gp_event, generate_series(1, {more}) n "
        "WHERE thread_id = %s::uuid AND seq = 1",
        (thread,),
    )
    rows("UPDATE gp_thread SET last_seq = %s WHERE id = %s::uuid", (last + more, thread))
    rows("SET LOCAL session_replication_role = DEFAULT")
    rows("ANALYZE gp_event")
    assert queries.event_kinds(thread) == {"value.recorded": COUNTED}

    # What stands further back is reached by going on, however few rows each page has.
    first = queries.events(thread, kinds=("thought",))
    assert (first.rows, first.next_cursor) == ((), str(last + more + 1 - SEARCHED))
    second = queries.events(thread, kinds=("thought",), before=last + 1)
    assert [e.data["text"] for e in second.rows] == ["early"]
    assert second.next_cursor == ""
    with sent() as statements:
        queries.events(thread, kinds=("thought",))
    assert SEARCHED <= sum(rows_read(statements).values()) <= SEARCHED + 10

    page = cast.client("operator").get(reverse("thread", args=[thread]) + "?kind=thought")
    text = page.content.decode()
    assert f"before={first.next_cursor}" in text
    assert "No events of this kind among those searched." in text
    assert "among the newest 1,000 events" in text

    # Of 10,000 events the page has the newest on top, and few rows.
    text = cast.client("operator").get(reverse("thread", args=[thread])).content.decode()
    shown = [int(seq) for seq in re.findall(r'<tr id="event-(\d+)"', text)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == last + more > 10_000
    assert len(re.findall(r'id="(?:checkpoint|event|activity)-', text)) <= 200
