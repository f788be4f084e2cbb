"""Workers of a hot agent and its hot store are killed: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import redis

from checkpoints.hot import streams
from dashboard.operate.embedded.valkey import HotStore
from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, ask, wait_until, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A31")]
GOES_ON = LEASE + SWEEP + 20
UNTIL = 6_000


def acknowledged(case: Case) -> int:
    """The number of the newest step that PostgreSQL or the hot store has."""
    entries = streams.entries_of(case.id, at_most=streams.ENTRIES_MAX)
    number: int = case.row().number
    return max(number, *(int(_number(entry.content)) for entry in entries), 0)


def _number(content: bytes) -> bytes:
    return content.split(b'"number":', 1)[1].split(b",", 1)[0]


def wait_acknowledged(case: Case, number: int) -> None:
    wait_until(lambda: acknowledged(case) >= number, what=case.summary)


def wait_drained(case: Case, number: int) -> None:
    wait_until(lambda: case.row().number >= number, what=case.summary)


def hot_worker(ground: Path, name: str) -> Worker:
    shutil.copy(AGENTS / "hot_agents.py", ground)
    return Worker(ground, name, environment={"GATEPOST_AGENTS": "hot_agents"})


def check(case: Case) -> None:
    """Each step is there once, in order, and what was published was true when it was."""
    case.wait_status("succeeded", seconds=120)
    assert case.state()["log"] == list(range(UNTIL))
    for n in range(1_000, UNTIL + 1, 1_000):
        assert len(set(case.calls(f"at-{n}"))) == 1


def test_killed_workers_lose_nothing_that_was_acknowledged(
    ground: Path, field: Field, hot_store: redis.Redis
) -> None:
    first = hot_worker(ground, "hot-0")
    with workers(first):
        case = field.start("hot", until=UNTIL, publish_every=1_000)
        wait_acknowledged(case, 500)
        first.kill()
    assert acknowledged(case) > case.row().number, "nothing was only buffered"
    for number in range(1, 4):
        before = acknowledged(case)
        with workers(hot_worker(ground, f"hot-{number}")) as (one,):
            case.wait_event("lease.taken_over", number, seconds=GOES_ON)
            wait_drained(case, before)
            if number == 3:
                check(case)
                break
            wait_acknowledged(case, before + 300)
            one.kill()
    steps = ask(
        "SELECT count(*), count(DISTINCT number) FROM gp_checkpoint WHERE thread_id = %s::uuid",
        case.id,
    )
    assert steps[0][0] == steps[0][1] == case.row().number + 1


def test_what_worker_and_hot_store_took_with_them_is_named_by_the_next_owner(
    ground: Path, field: Field, hot_store: redis.Redis, hot_server: HotStore
) -> None:
    """Its disk is lost while nobody drains, after a heartbeat and more steps."""
    reported = "SELECT coalesce(max(number), 0) FROM gp_hot_stream WHERE thread_id = %s::uuid"
    first = hot_worker(ground, "lost-0")
    with workers(first):
        case = field.start("hot", until=UNTIL)
        wait_until(lambda: ask(reported, case.id)[0][0] > 0, what=case.summary)
        first.kill()
    least, drained, there = ask(reported, case.id)[0][0], case.row().number, acknowledged(case)
    assert there >= least
    assert hot_server.process is not None
    hot_server.process.kill()
    hot_server.process.wait()
    shutil.rmtree(hot_server.folder / "appendonlydir")
    hot_server.start()
    hot_server.wait()
    with workers(hot_worker(ground, "lost-1")):
        case.wait_event("steps.lost", 1, seconds=GOES_ON)
        case.wait_status("succeeded", seconds=120)
    [lost] = [event.data for event in case.events() if event.kind == "steps.lost"]
    assert lost["first"] == drained + 1
    assert lost["at_least"]
    assert lost.get("last") == (least if least > drained else None)
    assert case.state()["log"] == list(range(UNTIL))


def test_a_killed_hot_store_costs_nothing_and_the_thread_continues(
    ground: Path, field: Field, hot_store: redis.Redis, hot_server: HotStore
) -> None:
    with workers(hot_worker(ground, "hot-store")):
        case = field.start("hot", until=UNTIL, publish_every=1_000)
        for _ in range(3):
            wait_acknowledged(case, acknowledged(case) + 300)
            assert hot_server.process is not None
            hot_server.process.kill()
            hot_server.process.wait()
            hot_server.start()
            hot_server.wait()
        check(case)
    assert "steps.lost" not in case.kinds()
