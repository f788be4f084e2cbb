"""Workers of a hot agent with values of three sizes are killed: another one has all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import redis
from django.core.files.storage import default_storage

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.hot import streams
from tests.faults.agents.sized_agents import expected
from tests.faults.bench import AGENTS, LEASE, SWEEP, Field, Worker, ask, wait_until, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("B16")]
GOES_ON = LEASE + SWEEP + 20
UNTIL = 3_000


def sized_worker(ground: Path, name: str) -> Worker:
    shutil.copy(AGENTS / "sized_agents.py", ground)
    return Worker(ground, name, environment={"GATEPOST_AGENTS": "sized_agents"})


def test_values_of_three_sizes_outlive_their_worker(
    ground: Path, field: Field, hot_store: redis.Redis
) -> None:
    first = sized_worker(ground, "sized-0")
    with workers(first):
        case = field.start("sized", until=UNTIL)
        wait_until(lambda: case.row().number > 500, what=case.summary)
        wait_until(lambda: streams.lag_of([case.id])[case.id].entries, what=case.summary)
        first.kill()
    before = case.row().number
    with workers(sized_worker(ground, "sized-1")):
        case.wait_event("lease.taken_over", 1, seconds=GOES_ON)
        case.wait_status("succeeded", seconds=120)
    assert before < UNTIL
    state = case.state()
    assert {name: state[name] for name in expected(UNTIL)} == expected(UNTIL)
    # Each value is where its size puts it, once.
    stored = {size for (size,) in ask(SIZES, case.id)}
    _, files = default_storage.listdir(f"threads/{case.id}/contents")
    lies = {default_storage.size(f"threads/{case.id}/contents/{name}") for name in files}
    assert stored == {60_002}
    assert lies == {400_002}
    assert len(files) == len(range(40, UNTIL, 100))
    places = {one.channel: one.store for one in queries.places_at(case.id, case.row().head)}
    assert places == {
        **dict.fromkeys(("folder", "until", "huge_at", "n", "log", "middle"), "database"),
        "large": "file",
    }
    assert verify(case.id).intact


SIZES = "SELECT DISTINCT octet_length(body) FROM gp_content WHERE thread_id = %s::uuid"
