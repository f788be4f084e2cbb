"""How much a thread takes: near the truth, in one query that a long thread does not make longer."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.queries.storage import SQL
from tests.unit.checkpoints.builders import drive, make_thread, new_activity, one

from .test_state_plan import nodes

MEASURED = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relkind = 'r' AND relname IN ('gp_event', 'gp_checkpoint', 'gp_activity', 'gp_keyframe')
"""


@pytest.mark.parametrize("steps", [10, 150])
def test_the_estimate_is_near_what_the_tables_grew_by(real_db: str, steps: int) -> None:
    warm = drive(make_thread(), 3)
    store.record_activity(warm.work, new_activity(warm.work, "look#1"), result={"found": 1})
    before = one(MEASURED)
    thread = make_thread()
    driver = drive(thread)
    for i in range(steps):
        done = new_activity(driver.work, f"look#{i}")
        store.record_activity(driver.work, done, result={"found": "x" * 500})
        driver.step({"append": {"log": ["y" * (i % 20) * 100]}})
    result = queries.storage(thread)
    grew = one(MEASURED) - before
    assert (result.checkpoints, result.activities) == (steps + 1, steps)
    assert result.events == one(
        "SELECT count(*) FROM gp_event WHERE thread_id = %s::uuid", (thread,)
    )
    assert result.sampled_all == (steps < 20)
    # Tables grow by whole pages; a short thread may fit into one that was there.
    assert abs(result.bytes - grew) < 0.25 * grew + 10 * 8_192


@pytest.mark.django_db
def test_it_is_one_query_that_looks_at_few_rows_of_a_long_thread() -> None:
    thread = make_thread()
    drive(thread, 400)
    with CaptureQueriesContext(connection) as seen:
        result = queries.storage(thread)
    assert len(seen) == 1
    assert result.checkpoints == 401
    plan = one(f"EXPLAIN (ANALYZE, FORMAT JSON) {SQL.storage}", (thread,))
    read = sum(
        n["Actual Rows"] * n["Actual Loops"]
        for n in nodes(plan[0]["Plan"])
        if n.get("Relation Name") in ("gp_event", "gp_checkpoint")
    )
    assert 0 < read <= 140


@pytest.mark.django_db
def test_keyframes_count_and_a_thread_must_be_there() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    few = queries.storage(thread).bytes
    store.write_keyframe(thread, 2, {**driver.state, "log": [f"{i:0900}" for i in range(50)]})
    assert queries.storage(thread).keyframes == 1
    assert queries.storage(thread).bytes > few
    with pytest.raises(NotFound):
        queries.storage(uuid4())
