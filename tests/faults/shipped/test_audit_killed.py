"""kill -9 of lead and children in the middle of an audit: each package is audited, none twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from uuid import UUID

import pytest

from approvals import queries as approvals
from checkpoints import queries, store
from tests.faults import invariants
from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker, ask, wait_until

pytestmark = [pytest.mark.hazard, pytest.mark.nightly]
GOES_ON = LEASE + SWEEP + 60
PACKAGES, STRIKES = 40, (8, 20)


def children(parent: UUID) -> dict[UUID, str]:
    """{thread: status} of the children of a thread."""
    return dict(ask("SELECT id, status FROM gp_thread WHERE parent = %s", parent))


def test_killed_twice_in_the_middle_each_package_is_audited_once(
    field: Field, worker: Worker, tmp_path: Path
) -> None:
    names = [f"package-{n:02}" for n in range(PACKAGES)]
    file = store.put_artifact(
        field.workspace,
        name="requirements.txt",
        media_type="text/plain",
        chunks=["".join(f"{name}==1.{n}\n" for n, name in enumerate(names)).encode()],
    )
    thread = store.start(
        queries.agent("dependency-audit").id,
        input={"file": file, "at_most": 4},
        workspace=field.workspace,
        actor="user:1",
        title="Audit",
    )
    case = field.adopt(thread, tmp_path)
    killed = 0
    for strike in STRIKES:
        wait_until(
            lambda n=strike: list(children(thread).values()).count("succeeded") >= n,
            seconds=60,
            what=case.summary,
        )
        for slot in worker.slots():
            os.kill(slot, signal.SIGKILL)
            killed += 1
        assert list(children(thread).values()).count("succeeded") < PACKAGES
    # Waiting for children is waiting as well; at the end it waits for a person.
    wait_until(
        lambda: approvals.for_thread(thread, open_only=True), seconds=GOES_ON, what=case.summary
    )

    assert killed >= len(STRIKES)
    states = children(thread)
    assert list(states.values()) == ["succeeded"] * PACKAGES
    state = case.state()
    assert [row["name"] for row in state["rows"]] == names
    assert [row["version"] for row in state["rows"]] == [f"1.{n}" for n in range(PACKAGES)]
    assert state["failures"] == []
    assert case.kinds().count("child.joined") == 1
    for child in states:
        invariants.check(Case(child, tmp_path, field.workspace))
