"""Real workers, real signals, and what must hold whatever was done to them."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection

from approvals import gates
from approvals import queries as approval_queries
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.views import ActivityRow, EventRow, ThreadRow
from dashboard.operate.embedded.process import processes
from tests.faults.embedded.helpers import pauses
from tests.support.reviewers import reviewer_in

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / "tests/faults/agents"  # copied out to where a worker finds them
LEASE, SWEEP = 3.0, 0.25
SHORT = {
    "GATEPOST_LEASE_SECONDS": str(LEASE),
    "GATEPOST_SWEEP_SECONDS": str(SWEEP),
    "GATEPOST_UNDO_PAUSES": "0.3,0.6",
}
PATIENCE = 60.0  # a limit for what is waited for, and no promise: slow machines need it
ENDED = {"succeeded", "failed", "cancelled", "attention", "paused"}


def wait_until[T](answer: Callable[[], T], *, seconds: float = PATIENCE, what: object = "it") -> T:
    """Ask until the answer is true; give it. The deadline fails with `what` as it is then."""
    deadline, pause = time.monotonic() + seconds, pauses()
    while not (result := answer()):
        if time.monotonic() > deadline:
            payload = what() if callable(what) else what
            raise AssertionError(f"not within {seconds} s: {payload}")
        time.sleep(next(pause))
    return result


# ---- workers ------------------------------------------------------------------------------------


class Worker:
    """One worker in a process group of its own."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        slots: int = 1,
        pool: str = "prefork",
        queues: str = "",
        environment: dict[str, str] | None = None,
        settings: dict[str, str] = SHORT,
    ) -> None:
        self.name = f"{name}@here"
        self.log = folder / f"{name}.txt"
        reading, writing = os.pipe()
        self.process = processes.start(
            [
                *(sys.executable, "-m", "workers", "--hostname", self.name),
                *("--pool", pool, "--concurrency", str(slots)),
                *(("--queues", queues) if queues else ()),
            ],
            log=self.log,
            env=os.environ
            | settings
            | {
                "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
                "GATEPOST_ROLE": "worker",
                "GATEPOST_AGENTS": "own_agents",
                "GATEPOST_SHIPPED_AGENTS": "false",
                "GATEPOST_READY_FD": str(writing),
                "CELERY_SKIP_CHECKS": "1",
            }
            | (environment or {}),
            cwd=folder,
            pass_fds=(writing,),
        )
        os.close(writing)
        self._reading = reading

    def wait_ready(self) -> Worker:
        """Return when it listens."""
        assert select.select([self._reading], [], [], 90)[0], self.log.read_text()
        assert os.read(self._reading, 1) == b"1", self.log.read_text()
        os.close(self._reading)
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def slots(self) -> list[int]:
        """The processes of the pool."""
        parts = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in parts if processes.alive(int(pid))]

    def working(self) -> list[int]:
        """The processes in which steps are done: the pool's, or with threads the main one."""
        return self.slots() or [self.pid]

    def command(self, pid: int) -> str:
        """The command line of a process, as `ps` shows it."""
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()

    def signal(self, number: int) -> None:
        """Send a signal to the whole group."""
        processes.signal_group(self.pid, number)

    def kill(self) -> None:
        """kill -9 of the group."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """What a supervisor does: SIGTERM to the main process."""
        self.process.terminate()


@contextmanager
def workers(*made: Worker) -> Iterator[tuple[Worker, ...]]:
    """Workers that are gone afterwards; they start side by side."""
    try:
        for worker in made:
            worker.wait_ready()
        yield made
    finally:
        for worker in made:
            worker.kill()


# ---- threads ------------------------------------------------------------------------------------


@dataclass
class Case:
    """One thread and the folder in which its calls leave their lines."""

    id: UUID
    folder: Path
    workspace: UUID

    def row(self) -> ThreadRow:
        return queries.thread(self.id, workspace=self.workspace)

    def state(self) -> dict[str, Any]:
        return queries.state_at(self.id, self.row().head)

    def calls(self, name: str) -> list[str]:
        """What each call wrote, oldest first (an idempotency key, or nothing)."""
        return [line.partition(" ")[2] for line in self._lines(name)]

    def callers(self, name: str) -> list[int]:
        """The processes that called."""
        return [int(line.partition(" ")[0]) for line in self._lines(name)]

    def _lines(self, name: str) -> list[str]:
        path = self.folder / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []

    def hold(self, name: str) -> None:
        """Let calls stay at this place from now on."""
        (self.folder / f"{name}.hold").touch()

    def go(self, name: str) -> None:
        """Let them go on."""
        (self.folder / f"{name}.hold").unlink()

    def holder(self) -> int:
        """The process that has the lease."""
        return int(self.row().lease_owner.split(":")[2])

    def wait_called(self, name: str, times: int = 1, *, seconds: float = PATIENCE) -> None:
        wait_until(
            lambda: len(self._lines(name)) >= times,
            seconds=seconds,
            what=lambda: f"call {times} of {name}; {self.summary()}",
        )

    def wait_event(self, kind: str, times: int = 1, *, seconds: float = PATIENCE) -> None:
        wait_until(
            lambda: self.kinds().count(kind) >= times,
            seconds=seconds,
            what=lambda: f"{kind} x {times}; {self.summary()}",
        )

    def wait_status(self, *statuses: str, seconds: float = PATIENCE) -> ThreadRow:
        """Wait for one of the statuses; ending in another one fails at once."""

        def there() -> ThreadRow | None:
            row = self.row()
            if row.status in statuses:
                return row
            assert row.status not in ENDED, f"{row.status}; {self.summary()}"
            return None

        result = wait_until(there, seconds=seconds, what=self.summary)
        assert result is not None
        return result

    def events(self) -> list[EventRow]:
        events: list[EventRow] = []
        while page := queries.events_after(self.id, len(events)):
            events += page
        return events

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events()]

    def effects(self) -> list[ActivityRow]:
        return [a for a in queries.activities(self.id) if a.kind == "effect"]

    def summary(self) -> str:
        row = self.row()
        return f"{row.status} at step {row.step} ({row.status_reason}): {self.kinds()[-12:]}"

    # ---- people ----

    def open(self) -> ApprovalRow:
        (result,) = approval_queries.for_thread(self.id, open_only=True)
        return result

    def decide(self, verdict: str, comment: str = "") -> None:
        row = self.open()
        gates.decide(
            row.id,
            workspace=self.workspace,
            reviewer=reviewer_in(self.workspace),
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
        )

    def roll_back(self, number: int) -> None:
        """To the checkpoint of that number, undoing what can be undone."""
        row = self.row()
        target = queries.checkpoint_by_number(self.id, number)
        fates = queries.effects_after(self.id, target.id)
        store.roll_back(
            self.id,
            checkpoint=target.id,
            undo=[f.activity.id for f in fates if f.fate == "undoable"],
            reason="The address was wrong",
            actor="user:1",
            head=row.head,
        )


@dataclass
class Field:
    """The database, the workspace, and the folders of all cases."""

    folder: Path
    workspace: UUID
    cases: list[Case] = field(default_factory=list)

    def start(self, agent: str, holds: tuple[str, ...] = (), **input: Any) -> Case:
        """Start a thread of an agent that a worker has announced; `holds` arms places."""
        return self._start(agent, input, hold=holds)

    def play(self, *steps: str, agent: str = "script", hold: tuple[str, ...] = ()) -> Case:
        """Start a script: each step is orders like "look a, deliver b"; `hold` arms places."""
        script = [[order.split() for order in step.split(", ")] for step in steps]
        return self._start(agent, {"script": script}, hold=hold)

    def _start(self, agent: str, input: dict[str, Any], hold: tuple[str, ...]) -> Case:
        folder = self.folder / f"case-{len(self.cases) + 1}"
        folder.mkdir()
        for name in hold:
            (folder / f"{name}.hold").touch()
        thread = store.start(
            queries.agent(agent).id,
            input={"folder": str(folder), **input},
            workspace=self.workspace,
            actor="user:1",
            title=folder.name,
        )
        case = Case(thread, folder, self.workspace)
        self.cases.append(case)
        return case

    def adopt(self, thread: UUID, folder: Path) -> Case:
        """A thread that came about otherwise, a fork."""
        case = Case(thread, folder, self.workspace)
        self.cases.append(case)
        return case


def ask(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Rows of the database, beside the product's own readers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()
