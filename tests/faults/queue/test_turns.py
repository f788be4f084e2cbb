"""Workspaces take turns: thousands of queued threads of one are not in the way of another."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings
from redis import Redis

from checkpoints import store
from tests.faults.bench import Case, Field, Worker, ask, wait_until

pytestmark = pytest.mark.hazard
CROWD, FEW = 200, 10


def beside(folder: Path, name: str) -> Field:
    """A workspace of its own, served by the same worker."""
    (folder / name).mkdir()
    return Field(folder / name, store.create_workspace(name, actor="user:0"))


def passed(case: Case, workspace: UUID, *, since: Case) -> int:
    """How many threads of a workspace the slot that took `case` took before it.

    Counted from when `since` was queued. Of that slot alone: another one may be stopped by a busy
    machine between its choice and its lease, and this one continues meanwhile.
    """
    ((number,),) = ask(
        "SELECT count(DISTINCT e.thread_id) FROM gp_event e JOIN gp_thread t ON t.id = e.thread_id "
        "JOIN (SELECT actor, at FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind = 'lease.acquired' ORDER BY seq LIMIT 1) taken ON taken.actor = e.actor "
        "WHERE t.workspace_id = %s::uuid AND e.kind = 'lease.acquired' AND e.at < taken.at "
        "AND e.at > (SELECT at FROM gp_event WHERE thread_id = %s::uuid AND seq = 1)",
        case.id,
        workspace,
        since.id,
    )
    return int(number)


def test_a_crowd_of_one_workspace_lets_another_pass(
    field: Field, worker: Worker, tmp_path: Path
) -> None:
    busy = [field.play("look first", hold=("in-first",)) for _ in worker.slots()]
    for case in busy:
        case.wait_called("first")
    noisy, quiet = (beside(tmp_path, name) for name in ("noisy", "quiet"))
    crowd = [noisy.play("look first") for _ in range(CROWD)]
    few = [quiet.play("look first") for _ in range(FEW)]
    for case in busy:
        case.go("in-first")
    for case in few:
        case.wait_status("succeeded")

    # A slot takes one of the crowd before it sees that others wait, and one in the crowd's turn.
    assert passed(few[0], noisy.workspace, since=few[0]) <= 2
    # Then one for each turn of the quiet workspace; where another slot was quicker it is in vain.
    assert max(passed(case, noisy.workspace, since=few[0]) for case in few) <= FEW + 2

    # Nobody of the crowd is forgotten, none is worked on twice.
    for case in crowd:
        case.wait_status("succeeded")
    assert [len(case.calls("first")) for case in [*few, *crowd]] == [1] * (FEW + CROWD)
    with Redis.from_url(settings.REDIS_URL) as valkey:
        wait_until(lambda: valkey.llen("gatepost") == 0, what="all doorbells to be answered")


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_moved_up_is_next_of_its_workspace_and_passes_no_other(
    field: Field, worker: Worker, tmp_path: Path, killed: bool
) -> None:
    """In the order of the leases on record; who takes the place of a killed slot looks as well."""
    busy = [field.play("look first", hold=("in-first",)) for _ in worker.slots()]
    for case in busy:
        case.wait_called("first")
    noisy, quiet = (beside(tmp_path, name) for name in (f"before {killed}", f"beside {killed}"))
    crowd = [noisy.play("look first") for _ in range(5 * FEW)]
    few = [quiet.play("look first") for _ in range(FEW)]
    moved = crowd[-1]
    store.move_up(moved.id, reason="A customer waits.", actor="user:1")
    for case in busy:
        case.go("in-first")
    if killed:
        for pid in worker.slots():
            os.kill(pid, signal.SIGKILL)
    for case in [*few, *crowd, *busy]:
        case.wait_status("succeeded")

    # The slot that took it took at most the thread that rang, while another one looked at it.
    assert passed(moved, noisy.workspace, since=few[0]) <= 2
    assert moved.kinds().count("thread.moved_up") == 1
    # The others keep their turns: those of the quiet workspace are not behind the crowd.
    assert passed(few[0], noisy.workspace, since=few[0]) <= 2
    assert max(passed(case, noisy.workspace, since=few[0]) for case in few) <= FEW + 2
    assert [len(case.calls("first")) for case in [*few, *crowd]] == [1] * (6 * FEW)
