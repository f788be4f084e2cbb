"""Pages read in proportion to the thread also while statistics call the tables nearly empty."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from checkpoints import queries
from tests.cast import Cast
from tests.checkpoints.builders import Driver, drive, make_agent, make_thread, rows
from tests.dashboard import scene
from tests.dashboard.drawing.comparison.runs import play, script_of

pytestmark = pytest.mark.django_db
TABLES = ("gp_event", "gp_activity", "gp_checkpoint", "gp_thread")
STEPS = 150
EACH = 200  # rows for each step; the anatomy reads the most, for it looks up every step's events


def n_read() -> dict[str, int]:
    """Rows that this transaction has fetched, of each table."""
    return dict(
        rows(
            "SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) "
            "FROM pg_stat_xact_user_tables WHERE relname = ANY(%s)",
            (list(TABLES),),
        )
    )


def played(cast: Cast, agent: UUID) -> Driver:
    driver = drive(make_thread(workspace=cast.workspace, agent=agent))
    random = Random(1)
    for step in script_of(1, STEPS).steps:
        play(driver, step, random)
    return driver


@pytest.mark.slow
@pytest.mark.requirement("C20")
def test_no_page_of_a_thread_reads_it_many_times_over(cast: Cast) -> None:
    """As between a load and the next ANALYZE, when the planner takes every join for a small one."""
    agent = make_agent()
    one, other = played(cast, agent), played(cast, agent)
    thread, second = one.work.thread, other.work.thread
    row = scene.gate(one.work).id
    rows("UPDATE pg_class SET reltuples = 0, relpages = 5000 WHERE relname ~ '^gp_'")
    point = queries.checkpoint_by_number(thread, STEPS // 2).id
    fork = f"/threads/{thread}/fork/?checkpoint={point}"
    client = cast.client("operator")
    for address in (
        f"/threads/{thread}/",
        f"/threads/{thread}/?cp={STEPS // 2}",
        f"/threads/{thread}/?kind=errors",
        f"/threads/{thread}/?tab=anatomy",
        f"/threads/{thread}/?tab=state",
        f"/threads/{thread}/cancel/",
        f"/threads/{thread}/rollback/?checkpoint={point}",
        fork,
        f"/threads/compare/?left={thread}&right={second}",
        f"/approvals/{row}/",
        f"/api/v1/threads/{thread}/",
        f"/api/v1/threads/{thread}/events/",
        f"/api/v1/threads/{thread}/activities/",
        f"/api/v1/threads/{thread}/checkpoints/",
        f"/api/v1/threads/{thread}/anatomy/",
        f"/api/v1/approvals/{row}/",
        "/",
    ):
        before = n_read()
        assert client.get(address).status_code == 200, address
        read = {table: n - before.get(table, 0) for table, n in n_read().items()}
        assert max(read.values()) < EACH * STEPS, (address, read)
