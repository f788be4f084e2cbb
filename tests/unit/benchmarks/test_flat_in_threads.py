"""What pages read of the database stays the same, however many threads a workspace has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client

from approvals import gates
from benchmarks import inbox
from benchmarks.ground import workspace
from benchmarks.rows.fleet import fill
from checkpoints import queries, store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_db")]
FEW, MANY = 1_000, 10_000


@dataclass
class Read:
    """A statement with the pages of the database that it looked at, and the rows by table."""

    sql: str
    pages: int
    rows: dict[str, int]


def connected() -> psycopg.Connection[Any]:
    """A connection beside Django's."""
    settings = connection.settings_dict
    names = (("host", "HOST"), ("port", "PORT"), ("dbname", "NAME"), ("user", "USER"))
    address = " ".join(f"{key}='{settings[name]}'" for key, name in names if settings[name])
    return psycopg.connect(address, autocommit=True, prepare_threshold=0)


def reads_of(client: Client, address: str) -> list[Read]:
    """What each statement of a page reads, as EXPLAIN says once the page is warm."""
    sent: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        assert client.get(address, headers={"host": "localhost"}).status_code == 200
    selects = [one for one in sent if one[0].lstrip().startswith(("SELECT", "WITH", "(SELECT"))]
    assert selects
    return [_read(sql, params) for sql, params in selects]


def _read(sql: str, params: Any) -> Read:
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_custom_plan")
        for _ in range(2):  # the first also reads what tells where free space and indexes are
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}", params)
            [[[plan]]] = cursor.fetchall()
        cursor.execute("RESET plan_cache_mode")
    top = plan["Plan"]
    rows: dict[str, int] = {}
    for node in nodes(top):
        if name := node.get("Relation Name"):
            each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            rows[name] = rows.get(name, 0) + round(each * node["Actual Loops"])
    return Read(sql, top["Shared Hit Blocks"] + top["Shared Read Blocks"], rows)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a plan."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def test_what_is_at_work_and_decided_is_read_by_indexes_alone() -> None:
    with connected() as raw:
        fill.fill(raw, MANY)
    look = queries.load(workspace=workspace())
    assert (look.running, look.queued, look.children) == (MANY // 200, MANY // 200 + 1, 0)
    client = Client()
    client.force_login(inbox.reviewer(), "dashboard.identity.backends.Passwords")
    reads = reads_of(client, "/overview/?period=24h")
    [load] = [one for one in reads if "AS oldest" in one.sql]
    assert load.pages < 50, load
    [decided] = [one for one in reads if "gp_decision" in one.sql]
    assert 0 < decided.rows["gp_decision"] < MANY / 250, decided.rows
    assert decided.rows["gp_approval"] == decided.rows["gp_decision"]


# By figure (started, three ends, spent on three models) and team: five, and none.
ALIKE = 7 * 6


def test_figures_are_read_by_hour_and_day_and_threads_of_the_last_hour_counted() -> None:
    with connected() as raw:
        fill.fill(raw, MANY)
    while store.fold_due() or gates.fold_decisions():
        pass
    client = Client()
    client.force_login(inbox.reviewer(), "dashboard.identity.backends.Passwords")
    for period, units in (("24h", 24), ("7d", 7 + 24), ("30d", 30 + 24)):
        reads = reads_of(client, f"/overview/?period={period}")
        [added_up] = [one for one in reads if "gp_figure" in one.rows]
        assert 0 < added_up.rows["gp_figure"] <= units * ALIKE
        [counted] = [one for one in reads if "WITH RECURSIVE ended" in one.sql]
        # Each is read where it began, ended and called: a day has 333 of them.
        assert 0 < counted.rows["gp_thread"] <= 3 * 2 * MANY / 30 / 24, counted
        [decided] = [one for one in reads if "gp_decision" in one.rows]
        assert 0 < decided.rows["gp_decision"] < MANY / 250  # of today, or the last 24 hours
        by_day = [one.rows["gp_decided_day"] for one in reads if "gp_decided_day" in one.rows]
        assert sum(by_day) <= 31
        assert len(by_day) == (period != "24h")
        others = [one for one in reads if one not in (added_up, counted)]
        assert {one.rows.get("gp_activity", 0) for one in others} == {0}
