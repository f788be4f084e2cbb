"""kill -9 around a recall and a remember, and memory that changes before the step continues."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.memories import MemoryRow, NewMemory
from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, ask, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A10")]
GOES_ON = LEASE + SWEEP + 60
REASON = "It was wrong"
ON_RECORD = {"recalled": 1, "remembered": 2}  # calls, where the node itself is held


@pytest.fixture(scope="module")
def recalling(ground: Path) -> Iterator[Worker]:
    shutil.copy(AGENTS / "recalling_agents.py", ground)
    own = {"GATEPOST_AGENTS": "recalling_agents"}
    made = Worker(ground, "recalling", slots=2, queues="recalling", environment=own)
    with workers(made) as (started,):
        yield started


def remember(workspace: UUID, text: str) -> MemoryRow:
    new = NewMemory(scope="workspace", owner="", kind="fact", text=text, source="person")
    return store.remember(workspace, new, actor="user:1")


def calls_of(case: Case) -> list[str]:
    return sorted(one.tool for one in queries.activities(case.id))


@pytest.mark.parametrize(
    ("point", "is_recorded"),
    [
        ("read", False),  # it has recalled, and nothing says so: it recalls anew
        ("recalled", True),
        ("kept", True),  # the memory is there, its record is not
        ("remembered", True),  # before the commit of the step
    ],
)
@pytest.mark.parametrize("is_killed", [True, False])
def test_struck_around_a_recall(
    field: Field, recalling: Worker, point: str, is_recorded: bool, is_killed: bool
) -> None:
    """The step answers from its record or recalls anew, not both; it remembers once.

    Without the kill the memory changes under a step that goes on.
    """
    word = f"quokka{point}{'killed' if is_killed else 'alive'}"
    deleted = remember(field.workspace, f"A {word} is large.")
    remember(field.workspace, f"A {word} is small.")
    case = field.start("recalling", (point,), word=word)
    if point in ON_RECORD:
        case.wait_event("activity.finished", ON_RECORD[point], seconds=20)
    else:
        case.wait_called(point, seconds=20)
    if is_killed:
        victim = case.holder()
        assert victim in recalling.slots()
        os.kill(victim, signal.SIGKILL)
    forgotten = store.forget_memories(
        [deleted.id], workspace=field.workspace, reason=REASON, actor="user:1"
    )
    assert forgotten == 1
    remember(field.workspace, f"A {word} is new.")
    case.go(point)
    case.wait_status("succeeded", seconds=GOES_ON)

    recalled_anew = is_killed and not is_recorded
    old = f"A {word} is small."
    if recalled_anew:
        seen = [f"A {word} is new.", old]
    elif is_recorded and not is_killed:
        seen = None  # its node had the texts in hand, or read them before they went
    else:
        seen = [old, f"Gone: {REASON}"]
    if seen is not None:
        assert case.state()["seen"] == sorted(seen)
    assert len(case.calls("read")) == (2 if recalled_anew else 1)
    assert len(case.calls("kept")) == (2 if is_killed and point == "kept" else 1)
    assert calls_of(case) == ["memory.recall", "memory.remember"]

    own = ask("SELECT id FROM gp_memory WHERE text = %s", f"The {word} was counted.")
    (memory,) = [ident for (ident,) in own]
    assert case.state()["own"] == [{"$memory": str(memory), "revision": 1}]
    (n,) = ask(
        "SELECT count(*) FROM gp_workspace_event WHERE kind = 'memory.remembered' "
        "AND data ->> 'memory' = %s",
        str(memory),
    )[0]
    assert n == 1
    assert case.kinds().count("lease.taken_over") == is_killed
