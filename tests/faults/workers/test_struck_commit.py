"""A worker or its connection ends while the commit of a step is on its way.

The thread's row is held, so that the commit waits in the server and its answer cannot come. Only
then is the worker killed, or its connection cut.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, transaction

from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, wait_until

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 60  # a minute for the rounds that are left
ROUNDS = 3_000
NAME = "hazards-hasty"


@pytest.fixture(scope="module")
def hasty(ground: Path) -> Iterator[Worker]:
    shutil.copy(AGENTS / "hasty_agents.py", ground)
    own = {"HAZARD_QUEUE": NAME, "GATEPOST_AGENTS": "hasty_agents"}
    started = Worker(ground, NAME, slots=2, queues=NAME, environment=own).wait_ready()
    yield started
    started.kill()


def begun(worker: Worker) -> list[int]:
    """The rounds that the node has begun, as the worker's log has them."""
    return [int(number) for number in re.findall(r"begun (\d+)", worker.log.read_text())]


def waits() -> list[int]:
    """The server's processes that wait for the lock of somebody else's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND query LIKE '%%UPDATE gp_thread%%head%%' AND datname = current_database()"
        )
        return [pid for (pid,) in cursor.fetchall()]


def strike(case: Case, worker: Worker, struck: str) -> int:
    """Hold the row until a commit waits for it, and strike then; the step the thread stands on."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT step FROM gp_thread WHERE id = %s FOR UPDATE", (case.id,))
            (step,) = cursor.fetchone()
        assert step < ROUNDS - 10, "the thread was too quick to be struck"
        (server,) = wait_until(waits, what="a commit that waits")
        victim = case.holder()
        assert victim in worker.slots()
        if struck != "connection":
            os.kill(victim, signal.SIGKILL)
        if struck != "worker":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s)", (server,))
        assert case.row().step == step  # nothing of it is written
        return int(step)


@pytest.mark.parametrize("struck", ["worker", "worker and commit", "connection"])
def test_struck_while_a_commit_is_under_way(field: Field, hasty: Worker, struck: str) -> None:
    before = len(begun(hasty))
    case = field.start(f"hasty-{NAME}", rounds=ROUNDS)
    wait_until(lambda: case.row().step > 100, what=case.summary)
    step = strike(case, hasty, struck)
    case.wait_status("succeeded", seconds=GOES_ON)

    assert case.kinds().count("lease.taken_over") == 1
    assert case.kinds().count("checkpoint.committed") == ROUNDS
    assert case.state()["log"] == list(range(ROUNDS))
    # Round n makes step n + 1: only what was under way is worked again, if it was lost at all.
    again = {n for n, times in Counter(begun(hasty)[before:]).items() if times > 1}
    assert again == ({step} if struck != "worker" else again & {step})
