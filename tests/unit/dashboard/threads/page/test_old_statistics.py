"""Pages read in proportion to the thread also while statistics call the tables nearly empty."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import Driver, drive, make_agent, make_thread
from tests.unit.checkpoints.old_statistics import forget_statistics, rows_read
from tests.unit.dashboard import scene
from tests.unit.dashboard.html.comparison.runs import play, script_of

pytestmark = pytest.mark.django_db
TABLES = ("gp_event", "gp_activity", "gp_checkpoint", "gp_thread")
STEPS = 150
EACH = 200  # rows for each step; the anatomy reads the most, for it looks up every step's events


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
    forget_statistics()
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
        before = rows_read(TABLES)
        assert client.get(address).status_code == 200, address
        read = {table: n - before.get(table, 0) for table, n in rows_read(TABLES).items()}
        assert max(read.values()) < EACH * STEPS, (address, read)
