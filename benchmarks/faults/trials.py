"""The tasks of a bench of wasted work: drawn, worked in both arms, begun again, counted."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .charged_server import KINDS, Charging, Fault, price

if TYPE_CHECKING:
    from checkpoints.views import ThreadRow

SHARE = (0.15, 0.30)  # of the tasks that meet a fault
ARMS = ("resume", "restart")
ENDS_SECONDS = 900.0


@dataclass
class Trial:
    """One task in one arm, with the threads that it took."""

    name: str
    task: str
    steps: int
    threads: list[UUID] = field(default_factory=list)

    @property
    def arm(self) -> str:
        return self.name.partition("/")[0]


def drawn(seed: int, steps: int, tasks: int, name: str = "") -> dict[str, Fault]:
    """{task: the fault that it meets}, the same in both arms; `name` where steps name no field."""
    name = name or str(steps)
    chance = random.Random(f"{seed}/{name}")
    faulty = max(1, round(tasks * chance.uniform(*SHARE)))
    return {
        f"{name}x{number}": Fault(chance.randint(1, steps), chance.choice(KINDS))
        for number in sorted(chance.sample(range(tasks), faulty))
    }


class Field:
    """All trials of one length: started, retried, restarted, until each has ended well."""

    agent = "bench-wasting"

    def __init__(
        self, server: Charging, steps: int, tasks: int, faults: dict[str, Fault], name: str = ""
    ) -> None:
        self._server, self._lock = server, threading.Lock()
        self.name = name or str(steps)
        names = [f"{self.name}x{number}" for number in range(tasks)]
        self.trials = {
            name: Trial(name, task, steps)
            for task in names
            for name in (f"{arm}/{task}" for arm in ARMS)
        }
        self.met: Counter[str] = Counter()
        server.plan({f"{arm}/{task}": fault for task, fault in faults.items() for arm in ARMS})

    def meets(self, name: str, fault: Fault) -> None:
        """Told before a fault strikes: with saving off the thread is worth nothing then."""
        from django.db import connection

        trial = self.trials[name]
        with self._lock:
            self.met[f"{trial.arm} {fault.kind}"] += 1
        if trial.arm == "restart":
            self._give_up(trial.threads[-1])
        connection.close()  # this thread of the server ends with the call

    def _give_up(self, thread: UUID) -> None:
        from checkpoints import store

        store.cancel(thread, actor="bench:1", reason="saving is off")

    def _input(self, trial: Trial) -> dict[str, Any]:
        return {"steps": trial.steps}

    def _start(self, trial: Trial) -> None:
        from benchmarks.ground import start

        trial.threads.append(start(self.agent, trial=trial.name, **self._input(trial)))

    def _attend(self, trial: Trial, row: ThreadRow) -> None:
        """Do what people do about a thread as it stands."""
        from checkpoints import store
        from checkpoints.errors import GatepostError
        from checkpoints.states import Status

        if row.status is Status.CANCELLED:
            self._start(trial)
        elif row.status in (Status.FAILED, Status.ATTENTION):
            try:
                store.retry(row.id, actor="bench:1")
            except GatepostError:
                pass  # it moved meanwhile

    def work(self) -> None:
        """Until every trial has come to its end; TimeoutError otherwise."""
        from benchmarks.ground import workspace
        from checkpoints import queries
        from checkpoints.states import Status

        deadline = time.monotonic() + ENDS_SECONDS
        workspace_id = workspace()
        left = list(self.trials.values())
        for trial in left:
            self._start(trial)
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(left)} trials have not ended")
            time.sleep(0.05)
            going = []
            for trial in left:
                row = queries.thread(trial.threads[-1], workspace=workspace_id)
                if row.status is Status.SUCCEEDED:
                    continue
                self._attend(trial, row)
                going.append(trial)
            left = going

    # ---- what it took ----

    def wasted(self, arm: str) -> tuple[int, int]:
        """(calls, tokens) beyond what the tasks of an arm need."""
        mine = [trial for trial in self.trials.values() if trial.arm == arm]
        needed = sum(
            sum(price(trial.task, step)) for trial in mine for step in range(1, trial.steps + 1)
        )
        return (
            sum(self._server.calls[c.name] - 2 * c.steps for c in mine),
            sum(self._server.tokens[c.name] for c in mine) - needed,
        )

    def own_wasted(self, arm: str) -> int:
        """Calls beyond need that the counting server has not seen."""
        return 0

    def more(self) -> dict[str, Any]:
        """What else its line says."""
        return {}

    @property
    def right(self) -> bool:
        """Whether what stands at the end is what the tasks asked for."""
        return True

    def saved_as_shown(self) -> tuple[int, int]:
        """(calls, tokens) that the product shows as not made again."""
        from benchmarks.ground import workspace
        from checkpoints import queries

        results = [
            queries.saved(queries.thread(thread, workspace=workspace()))
            for trial in self.trials.values()
            if trial.arm == "resume"
            for thread in trial.threads
        ]
        return sum(s.calls for s in results), sum(s.tokens for s in results)
