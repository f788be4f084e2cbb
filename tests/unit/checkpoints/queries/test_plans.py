"""Plans of the queries that pages ask most, among 5,000 threads in a database of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from checkpoints import queries, store
from checkpoints.postgres.plans import planned_for_this
from checkpoints.states import Status
from tests.unit.checkpoints.builders import (
    drive,
    head_of,
    make_thread,
    make_workspace,
    one,
    rows,
)

from .test_queries import numbered

LARGE = {"gp_thread", "gp_checkpoint", "gp_event"}


@pytest.fixture
def fleet(real_db: str) -> Iterator[tuple[UUID, UUID]]:
    """5,000 threads with 10,000 checkpoints and 20,000 events, one of them of 200 steps."""
    with transaction.atomic():
        yield make_fleet()
        transaction.set_rollback(True)


def make_fleet() -> tuple[UUID, UUID]:
    """(workspace, the long thread)."""
    workspace = make_workspace()
    small = make_thread(workspace=workspace)
    store.hand_back(drive(small, 1).work, reason="")
    rows(
        "CREATE TEMP TABLE copied ON COMMIT DROP AS SELECT n, gen_random_uuid() AS id, "
        "(%s::text[])[1 + n %% 10] AS status FROM generate_series(1, 5000) n",
        ([str(status) for status in Status],),
    )
    value = {"id": "c.id", "thread_id": "c.id", "status": "c.status"}
    value["status_since"] = "clock_timestamp() - c.n * interval '1 minute'"
    for table, key in (
        ("gp_thread", "id"),
        ("gp_checkpoint", "thread_id"),
        ("gp_event", "thread_id"),
    ):
        columns = [
            name
            for (name,) in rows(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s::text",
                (table,),
            )
        ]
        own = [name for name in columns if name in value and (name == key or name != "id")]
        values = ", ".join(value[name] if name in own else f"x.{name}" for name in columns)
        rows(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} x, copied c "
            f"WHERE x.{key} = %s::uuid",
            (small,),
        )
    long = make_thread(workspace=workspace)
    drive(long, 200)
    rows("ANALYZE gp_thread, gp_checkpoint, gp_event, gp_keyframe, gp_activity")
    assert one("SELECT count(*) FROM gp_thread") == 5_002
    return workspace, long


def statements_of(read: Callable[[], object]) -> list[tuple[str, Any]]:
    """The statements that `read` sends, with their parameters."""
    sent: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        read()
    assert sent
    return [(sql, params) for sql, params in sent if not sql.startswith("EXPLAIN")]


def plans_of(read: Callable[[], object]) -> Iterator[dict[str, Any]]:
    """The plans of each statement that `read` sends: for its parameters, and for any."""
    for sql, params in statements_of(read):
        yield one(f"EXPLAIN (FORMAT JSON) {sql}", params)[0]["Plan"]
        # After five executions the server may keep one plan for all parameters.
        numbers = iter(range(1, 100))
        anonymous = re.sub("%s", lambda _: f"${next(numbers)}", sql)  # noqa: B023
        with planned_for_this(), connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON, GENERIC_PLAN) {anonymous}")
            yield cursor.fetchone()[0][0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def test_hot_queries_use_indexes_at_5000_threads(fleet: tuple[UUID, UUID]) -> None:
    workspace, long = fleet
    head = head_of(long)
    cursor = queries.threads(workspace=workspace, limit=50).next_cursor
    hot: dict[str, Callable[[], object]] = {
        "thread": lambda: queries.thread(long, workspace=workspace),
        "state_at": lambda: queries.state_at(long, head),
        "checkpoints": lambda: queries.checkpoints(long, before=100),
        "events_after": lambda: queries.events_after(long, 190),
        "events": lambda: queries.events(long, before=100),
        "board": lambda: queries.threads(workspace=workspace),
        "board, next page": lambda: queries.threads(workspace=workspace, after=cursor),
        "board, one status": lambda: queries.threads(
            queries.Selection([Status.WAITING]), workspace=workspace
        ),
        "lanes": lambda: queries.lanes(workspace=workspace, statuses=list(Status)),
        "forks_of": lambda: queries.forks_of(long),
        "effects_after": lambda: queries.effects_after(long, numbered(long, 1)),
    }
    for name, read in hot.items():
        for plan in plans_of(read):
            scans = [
                node["Relation Name"]
                for node in nodes(plan)
                if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE
            ]
            assert not scans, (name, json.dumps(plan, indent=1))
            if name.startswith("board"):  # a page is read off the index, however many there are
                assert "Sort" not in {node["Node Type"] for node in nodes(plan)}
    # The guard is awake: what has no index is seen.
    [plan, _] = plans_of(lambda: rows("SELECT * FROM gp_event WHERE actor = %s::text", ("x",)))
    assert any(node["Node Type"] == "Seq Scan" for node in nodes(plan))
