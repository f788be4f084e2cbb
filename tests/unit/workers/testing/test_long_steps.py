"""A step costs in proportion to what it says, and commits however much that is."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from checkpoints.state.deltas import LIMITS
from checkpoints.states import Status
from checkpoints.store.statement.text import EVENTS_AT_ONCE, batched
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import wordy

MUCH = 10_000


@pytest.fixture
def bench(real_db: str) -> Bench:
    return bench_of(wordy)


@pytest.mark.nightly
def test_ten_thousand_thoughts_of_one_step_are_committed_in_order(bench: Bench) -> None:
    thread = bench.start(what="thoughts", amount=MUCH)
    row = bench.advance(thread)
    assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
    kinds = ["thought.recorded"]
    events = queries.events_after(thread, 0, limit=2 * MUCH, kinds=kinds)
    texts = [e.data["text"] for e in events]
    assert texts == [f"thought {n}" for n in range(MUCH)]
    assert bench.intact(thread)


@pytest.mark.nightly
def test_ten_thousand_activities_of_one_step_are_committed(bench: Bench) -> None:
    thread = bench.start(what="activities", amount=MUCH)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(queries.activities(thread, limit=2 * MUCH)) == MUCH
    assert bench.intact(thread)


@pytest.mark.slow
@pytest.mark.parametrize("amount", [EVENTS_AT_ONCE - 2, 100, 1_000, 3_000])
def test_statements_grow_with_the_events_and_none_holds_more_than_a_part(
    bench: Bench, amount: int
) -> None:
    thread = bench.start(what="thoughts", amount=amount)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        bench.advance(thread)
    appending = [q["sql"] for q in captured if "INSERT INTO gp_event" in q["sql"]]
    # One takes the lease; two events are the step's own: its checkpoint and the thread's end.
    assert len(appending) == 1 + -(-(amount + 2) // EVENTS_AT_ONCE)
    assert max(sql.count("gp_link(") for sql in appending) <= EVENTS_AT_ONCE


def test_a_step_in_parts_is_all_or_nothing(bench: Bench) -> None:
    """The lease is taken away in the middle: nothing of the step stays."""
    thread = bench.start(what="thoughts", amount=500)
    before = bench.row(thread).last_seq
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'not this one' USING ERRCODE = '53100'; END$$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON gp_event FOR EACH ROW "
            "WHEN (NEW.data->>'text' = 'thought 400') EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(Exception, match="not this one"):
        bench.advance(thread)
    row = bench.row(thread)
    taken = [e.kind for e in bench.events(thread) if e.seq > before]
    assert (row.status, taken) == (Status.RUNNING, ["lease.acquired"])


def test_a_state_at_its_limit_commits_and_one_beyond_is_refused_with_path_and_limit(
    bench: Bench,
) -> None:
    thread = bench.start(what="state", amount=LIMITS.state_bytes - 1_000)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.intact(thread)
    thread = bench.start(what="state", amount=LIMITS.state_bytes + 1)
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert f"at most {LIMITS.state_bytes:,}" in row.status_reason
    assert "$.text" in row.status_reason


def test_a_proposal_of_five_thousand_lines_is_asked_decided_and_carried_out(
    bench: Bench,
) -> None:
    thread = bench.start(what="lines", amount=5_000)
    assert bench.advance(thread).status is Status.WAITING
    assert len(bench.open(thread).args["lines"]) == 5_000
    bench.decide(thread, "approve")
    row = bench.advance(thread)
    assert (row.status, bench.state(thread)["out"]) == (Status.SUCCEEDED, "5000 ordered")
    assert bench.intact(thread)


def test_parts_keep_the_order_and_leave_nothing_out() -> None:
    for count in (0, 1, EVENTS_AT_ONCE, EVENTS_AT_ONCE + 1, 1_000):
        events = list(range(count))
        parts = batched(events)
        assert [e for part in parts for e in part] == events
        assert all(0 < len(part) <= EVENTS_AT_ONCE for part in parts)
