"""kill -9 in the middle of a turn that keeps nothing: it ends failed, and is not taken up again."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from checkpoints import queries
from checkpoints.durabilities import SEND_AGAIN
from checkpoints.ephemeral import copies
from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, ask, wait_until, workers

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.requirement("A14"),
    pytest.mark.requirement("E07"),
]
NOTICED = LEASE + SWEEP + 20


def send(case: Case, text: str) -> None:
    copies.send(case.id, queue="gatepost", message=_message(text), actor="user:1", ttl=600)


def conversation(case: Case) -> list[str]:
    """What the copy in memory holds of the conversation."""
    copy = copies.load(case.id)
    assert copy is not None
    return [message["content"] for message in copy.state["messages"]]


def wait_turns(case: Case, n: int, kind: str = "thread.succeeded") -> None:
    wait_until(lambda: case.kinds().count(kind) == n, seconds=NOTICED, what=case.summary)


def _message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("victim", ["slot", "worker"])
def test_a_killed_turn_ends_failed_and_leaves_the_state_before_it(
    ground: Path, field: Field, victim: str
) -> None:
    shutil.copy(AGENTS / "chat_agents.py", ground)
    environment = {"GATEPOST_AGENTS": "chat_agents"}
    first, second = (
        Worker(ground, f"chat-{victim}-{n}", environment=environment) for n in range(2)
    )
    with workers(first, second):
        case = field.start("chat", messages=[_message("hello")], holds=("lost",))
        wait_turns(case, 1)
        before = conversation(case)
        assert before == ["hello", "You said hello"]
        send(case, "lost")
        case.wait_called("lost")
        holder = case.holder()
        if victim == "slot":
            os.kill(holder, signal.SIGKILL)
        else:
            next(one for one in (first, second) if holder in one.slots()).kill()
        case.go("lost")
        wait_turns(case, 1, "thread.failed")
        row = case.row()
        assert row.status_reason.endswith(SEND_AGAIN)
        assert conversation(case) == before
        # Long enough for a sweep, a ring and another lease: nobody takes it up.
        wait_until(lambda: copies.waiting(older_than_seconds=0) == [], seconds=NOTICED)
        assert len(case.calls("lost")) == 1
        send(case, "again")
        wait_turns(case, 2)
        assert conversation(case) == [*before, "again", "You said again"]
    assert len(case.calls("lost")) == 1
    assert queries.checkpoints(case.id).rows == ()
    assert ask("SELECT count(*) FROM gp_activity WHERE thread_id = %s", case.id) == [(0,)]
