"""Notice threads that are stuck: what their nodes usually take, and who takes far longer.

The sweep of one worker looks at all workspaces. Usual times are learned from the log, an agent at
a time; notes are kept in `gp_stuck`, of threads that are stuck now and only of those. Both are
caches: lost ones are made anew.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.limits import stuck_seconds, stuck_wait_seconds
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.signals import Store, stuck_noted
from checkpoints.states import Status

SQL = sql_file(__file__)
LOOK_SECONDS: Final = 10.0
LEARN_SECONDS: Final = 600.0
# A step is late after this many times its 95th percentile, and never before the floor.
STEP_FACTOR, STEP_FLOOR, STEPS_ENOUGH = 8.0, 60.0, 20
WAIT_FACTOR, WAIT_FLOOR, WAITS_ENOUGH = 2.0, 3_600.0, 5
CALLS: Final = 5  # this many alike within CALLS_STEPS steps are a loop
CALLS_STEPS: Final = 20
CALLS_BYTES: Final = 8_192
MOVED_SECONDS: Final = 120.0
BATCH: Final = 200
WAITING_BATCH: Final = 2_000
THREADS, EVENTS = 20, 200  # per agent and status; per thread
_LEARNED_FROM: Final = [
    str(s) for s in (Status.SUCCEEDED, Status.RUNNING, Status.WAITING, Status.QUEUED, Status.FAILED)
]
_BEGINNING: Final = (datetime(1, 1, 2, tzinfo=UTC), UUID(int=0))


class StuckTurns:
    """Work that is due in this process, by its own clock, and the walk over waiting threads."""

    def __init__(self) -> None:
        self._look_at = self._learn_at = 0.0
        self._agents: list[str] = []
        self.positions: dict[UUID, tuple[datetime, UUID]] = {}

    def look_due(self) -> bool:
        """Answer True once per LOOK_SECONDS."""
        now = time.monotonic()
        if now < self._look_at:
            return False
        self._look_at = now + LOOK_SECONDS
        return True

    def next_agent(self) -> str:
        """The agent to learn from next; empty while all are fresh."""
        now = time.monotonic()
        if not self._agents and now >= self._learn_at:
            self._learn_at = now + LEARN_SECONDS
            self._agents = _agents()
        return self._agents.pop() if self._agents else ""


def learn_node_times(agent: str) -> int:
    """Compute the usual times of an agent's nodes anew; how many nodes have some."""
    with connection.cursor() as cursor:
        cursor.execute(
            SQL.learn,
            {"agent": agent, "statuses": _LEARNED_FROM, "threads": THREADS, "events": EVENTS},
        )
        return int(cursor.rowcount)


def note_stuck(turns: StuckTurns | None = None) -> int:
    """Note every thread that is stuck now, forget those that moved; how many notes are new.

    1. Forget the notes of threads that have moved.
    2. Those queued or at work without an event for too long, with or without a heartbeat.
    3. The next of those that wait for people: of a million some thousands a look.
    4. Those that call the same again and again.
    """
    turns = turns or StuckTurns()
    repeated = fetch_named(
        SQL.repeated,
        {
            "steps": CALLS_STEPS,
            "moved": MOVED_SECONDS,
            "bytes": CALLS_BYTES,
            "calls": CALLS,
            "limit": BATCH,
        },
    )
    with connection.cursor() as cursor:
        cursor.execute(SQL.forget, ([row.id for row in repeated], MOVED_SECONDS))
    silent = fetch_named(
        SQL.silent,
        {
            "floor": STEP_FLOOR,
            "factor": STEP_FACTOR,
            "enough": STEPS_ENOUGH,
            "unknown": stuck_seconds(),
            "limit": BATCH,
        },
    )
    late = [row for workspace in _workspaces() for row in _late(workspace, turns)]
    noted = _note([(row, _silence(row)) for row in silent])
    noted += _note([(row, _wait(row)) for row in late])
    by_thread = {row.id: row for row in reversed(repeated)}
    return noted + _note([(row, _repetition(row)) for row in by_thread.values()])


def _agents() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT agent FROM gp_agent_version ORDER BY agent DESC")
        return [agent for (agent,) in cursor.fetchall()]


def _workspaces() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_workspace ORDER BY id")
        return [ident for (ident,) in cursor.fetchall()]


def _late(workspace: UUID, turns: StuckTurns) -> list[Any]:
    """The late ones of the next that wait; the walk begins anew at its end."""
    after, after_id = turns.positions.pop(workspace, _BEGINNING)
    rows = fetch_named(
        SQL.waiting,
        {
            "workspace": workspace,
            "floor": WAIT_FLOOR,
            "factor": WAIT_FACTOR,
            "enough": WAITS_ENOUGH,
            "unknown": stuck_wait_seconds(),
            "events": EVENTS,
            "after": after,
            "after_id": after_id,
            "limit": WAITING_BATCH,
        },
    )
    if len(rows) == WAITING_BATCH:
        turns.positions[workspace] = (rows[-1].status_since, rows[-1].id)
    return [row for row in rows if row.late]


def _note(rows: Sequence[tuple[Any, str]]) -> int:
    if not rows:
        return 0
    columns = zip(
        *(
            (
                row.id,
                row.workspace_id,
                row.agent,
                row.node,
                row.rule,
                row.since,
                reason,
                row.status_since,
                row.last_seq,
            )
            for row, reason in rows
        ),
        strict=True,
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL.note, [list(column) for column in columns])
        noted = cursor.fetchall()
    for thread, workspace in noted:
        stuck_noted.send_robust(sender=Store, thread_id=thread, workspace=workspace)
    return len(noted)


def _silence(row: Any) -> str:
    if row.rule == "queue":
        return "No worker has taken it."
    if row.rule == "lease":
        return "Its worker sends no heartbeat, and no other has taken over."
    if row.usual is None:
        return "Its worker has recorded nothing."
    usual = duration(row.usual)
    return f"Its worker has recorded nothing; {row.node} usually takes up to {usual}."


def _wait(row: Any) -> str:
    if row.usual is None:
        return "Waiting for a person for a long time."
    return f"Waiting for a person; {row.node} is usually decided within {duration(row.usual)}."


def _repetition(row: Any) -> str:
    many = f"{CALLS} times or more" if row.calls < 2 * CALLS else f"{2 * CALLS} times or more"
    return f"{row.tool} was called {many} with the same arguments."


def duration(seconds: float) -> str:
    """Seconds in words with one unit, rounded up."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{-int(-seconds // size)} {unit}"
    return f"{max(1, -int(-seconds // 1))} s"
