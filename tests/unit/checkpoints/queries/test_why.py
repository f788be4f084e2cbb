"""One explanation for every standstill; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from checkpoints.queries.why import why_waiting
from checkpoints.states import Status
from checkpoints.views import QueuePosition, ThreadRow, WorkerRow

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VERSION = uuid4()


@dataclass
class Request:
    headline: str
    requested_at: datetime
    decide_by: datetime | None = None
    id: UUID = VERSION


def thread(status: Status, **more: Any) -> ThreadRow:
    row = ThreadRow(
        id=uuid4(), workspace=uuid4(), name=None, title="t", agent="research", version_label="3",
        agent_version_id=VERSION, labels={}, status=status, status_since=NOW, status_reason="",
        version=1, last_seq=1, last_at=NOW, number=1, step=1, branch=0,
        next_nodes=("analyse", "chart"), waiting_on=None, wake_at=None, wish="", pause_at="",
        effects="run", lease_owner="", lease_until=None, fence=1, crash_count=0, head=uuid4(),
        parent=None, base=None, forked_from=None, started_by="user:1", rollback=None, n_steps=1,
        tokens=0, cost="0", tokens_saved=0, state_bytes=2, created_at=NOW, read_at=NOW,
    )  # fmt: skip
    return replace(row, **more)


def worker(*, alive: bool = True, agents: tuple[str, ...] = (str(VERSION),)) -> WorkerRow:
    return WorkerRow("w", "h", 1, 2, ("gatepost",), agents, NOW, NOW, alive)


LATER, BEFORE = NOW + timedelta(minutes=1), NOW - timedelta(minutes=1)
HELD = {"lease_owner": "w:1:b", "lease_until": LATER}


@pytest.mark.parametrize(
    ("row", "workers", "kind", "text"),
    [
        (thread(Status.QUEUED), [worker()], "queue", "Waiting for a free worker; next is analyse"),
        (thread(Status.QUEUED), [], "no_worker", "No worker is running."),
        (thread(Status.QUEUED), [worker(alive=False)], "no_worker", "the last one was seen at"),
        (thread(Status.QUEUED), [worker(agents=())], "no_code", "research (version 3)"),
        (thread(Status.RUNNING, **HELD), [worker()], "working", "Working on analyse, chart."),
        (thread(Status.RUNNING, wish="pause", **HELD), [worker()], "pause", "after this step"),
        (
            thread(Status.RUNNING, lease_owner="w:1:b", lease_until=BEFORE),
            [worker()],
            "lease",
            "No sign of life",
        ),
        (
            thread(Status.RUNNING, lease_owner="w:1:b", lease_until=BEFORE),
            [],
            "no_worker",
            "No worker is running",
        ),
        (thread(Status.WAITING), [], "wake", "Nothing is open now"),
        (thread(Status.SLEEPING, wake_at=LATER), [], "timer", "until 2026-01-02 03:05:05 UTC"),
        (
            thread(
                Status.SLEEPING,
                status_reason="look_up answered 429; attempt 3 of 5",
                wake_at=LATER,
            ),
            [],
            "timer",
            "look_up answered 429; attempt 3 of 5 at 2026-01-02 03:05:05 UTC.",
        ),
        (
            thread(
                Status.SLEEPING,
                status_reason="look_up answered 429; waits with all others",
                wake_at=LATER,
            ),
            [],
            "timer",
            "look_up answered 429; waits with all others until 2026-01-02 03:05:05 UTC.",
        ),
        (thread(Status.SLEEPING, wake_at=BEFORE), [worker()], "timer", "Its timer is due"),
        (thread(Status.SLEEPING, wake_at=BEFORE), [], "no_worker", "No worker is running"),
        (thread(Status.PAUSED), [], "paused", "Paused; next is analyse, chart."),
        (
            thread(Status.PAUSED, status_reason="Paused by a person."),
            [],
            "paused",
            "Paused by a person; next",
        ),
        (
            thread(Status.ATTENTION, status_reason="Crashed 3 times"),
            [],
            "attention",
            "Crashed 3 times.",
        ),
        (thread(Status.FAILED, status_reason="no column"), [], "failed", "no column."),
        (thread(Status.ROLLING_BACK), [worker()], "queue", "undo effects"),
        (thread(Status.ROLLING_BACK), [], "no_worker", "No worker is running"),
        (thread(Status.ROLLING_BACK, **HELD), [worker()], "working", "is undoing effects"),
        (thread(Status.SUCCEEDED), [], "finished", "The thread has succeeded."),
        (
            thread(Status.CANCELLED, status_reason="Whether pay happened is unknown."),
            [],
            "finished",
            "The thread was cancelled.",
        ),
    ],
)
def test_each_standstill(row: ThreadRow, workers: list[WorkerRow], kind: str, text: str) -> None:
    why = why_waiting(row, (), workers, now=NOW)
    assert why.kind == kind
    assert text in why.sentence
    assert why.sentence.endswith((".", "!", "?"))
    helped = kind in ("no_worker", "no_code", "paused", "attention", "failed")
    # An effect was under way when it was cancelled.
    helped = helped or (row.status is Status.CANCELLED and bool(row.status_reason))
    assert bool(why.action) is helped


@pytest.mark.parametrize(
    ("position", "behind"),
    [
        (QueuePosition("gatepost", 0, 0, 0), ""),
        (
            QueuePosition("slow", 2, 1, 1),
            " behind 2 threads of this workspace and up to 1 thread of others in the queue slow",
        ),
        (
            QueuePosition("gatepost", 1, 0, 0),
            " behind 1 thread of this workspace in the queue gatepost",
        ),
        (
            QueuePosition("gatepost", 0, 3, 3),
            " behind up to 3 threads of other workspaces in the queue gatepost",
        ),
        (
            QueuePosition("gatepost", 1_000, 0, 0),
            " behind 1,000 or more threads of this workspace in the queue gatepost",
        ),
    ],
)
def test_a_queued_thread_names_what_is_before_it(position: QueuePosition, behind: str) -> None:
    serving = replace(worker(), queues=(position.queue,))
    why = why_waiting(thread(Status.QUEUED), (), [serving], now=NOW, position=position)
    assert why.sentence == f"Waiting for a free worker{behind}; next is analyse, chart."
    assert why.facts == {
        "workers": 1,
        "queue": position.queue,
        "before": position.before,
        "turns": position.turns,
        "workspaces": position.workspaces,
    }


def test_no_worker_serves_the_queue() -> None:
    """One has the code and one serves the queue: neither takes it."""
    position = QueuePosition("slow", 0, 0, 0)
    serves = replace(worker(agents=()), queues=("slow",))
    why = why_waiting(thread(Status.QUEUED), (), [worker(), serves], now=NOW, position=position)
    assert (why.kind, why.action) == ("no_worker", "Start a worker that serves it.")
    assert why.sentence == "No running worker with this code serves the queue slow."
    both = replace(worker(), queues=("gatepost", "slow"))
    assert (
        why_waiting(thread(Status.QUEUED), (), [both], now=NOW, position=position).kind == "queue"
    )


def test_every_status_is_explained() -> None:
    for status in Status:
        assert why_waiting(thread(status), now=NOW).sentence


def test_a_gate_names_the_oldest_request() -> None:
    requests = [Request("Pay?", NOW), Request("Publish", BEFORE, LATER)]
    why = why_waiting(thread(Status.WAITING), requests, now=NOW)
    assert why.sentence == (
        "Waiting for a decision: Publish and 1 more; it expires at 2026-01-02 03:05:05 UTC."
    )
    assert (why.kind, why.since, why.action) == ("gate", BEFORE, "A reviewer decides.")
    paused = why_waiting(thread(Status.PAUSED), requests[:1], now=NOW)
    assert paused.sentence.endswith("1 request can be decided meanwhile.")
