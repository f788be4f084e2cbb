"""A worker ends while a commit is under way and the next step is worked ahead of its answer.

The thread's row is held, so that the commit waits in the server and its answer cannot come. Only
then is the worker killed, or its connection cut, with the round after the next one begun already.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, transaction

from .bench import LEASE, SWEEP, Case, Field, Worker, wait_until

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 12
ROUNDS = 3_000
NAME = "hazards-ahead"


@pytest.fixture(scope="module")
def hasty(ground: Path) -> Iterator[Worker]:
    shutil.copy(Path(__file__).with_name("ahead_agents.py"), ground)
    own = {"HAZARD_QUEUE": NAME, "GATEPOST_AGENTS": "ahead_agents"}
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


def strike(case: Case, worker: Worker, struck: str, before: int) -> int | None:
    """Hold the row until a step is worked ahead of a commit that waits, and strike then.

    The step that the thread stands on; None where just this commit was waited for, since the node
    was slow for once.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT step FROM gp_thread WHERE id = %s FOR UPDATE", (case.id,))
            (step,) = cursor.fetchone()
        assert step < ROUNDS - 10, "the thread was too quick to be struck"
        (server,) = wait_until(waits, what="a commit that waits")
        # Round n makes step n + 1: that of the commit that waits is begun, and the one after it.
        for _ in range(50):
            if max(begun(worker)[before:]) > step:
                break
            time.sleep(0.01)
        else:
            return None
        assert max(begun(worker)[before:]) == step + 1
        victim = case.holder()
        assert victim in worker.slots()
        if struck != "connection":
            os.kill(victim, signal.SIGKILL)
        if struck != "worker":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s)", (server,))
        assert case.row().step == step  # nothing of either step is written
        return int(step)


@pytest.mark.parametrize("struck", ["worker", "worker and commit", "connection"])
def test_struck_while_a_commit_is_under_way(field: Field, hasty: Worker, struck: str) -> None:
    before = len(begun(hasty))
    case = field.start(f"hasty-{NAME}", rounds=ROUNDS)
    wait_until(lambda: case.row().step > 100, what=case.told)
    tries = (strike(case, hasty, struck, before) for _ in range(20))
    step = next(found for found in tries if found is not None)
    case.wait_status("succeeded", seconds=GOES_ON)

    assert case.kinds().count("lease.taken_over") == 1
    assert case.kinds().count("checkpoint.committed") == ROUNDS
    assert case.state()["log"] == list(range(ROUNDS))
    # What was lost is what was under way: one step, and the one ahead of it.
    rounds = begun(hasty)[before:]
    again = {number for number, times in Counter(rounds).items() if times > 1}
    assert again in ({step + 1}, {step, step + 1})
