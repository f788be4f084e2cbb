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
class Course:
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
    """All courses of one length: started, retried, restarted, until each has ended well."""

    agent = "bench-wasting"

    def __init__(
        self, server: Charging, steps: int, tasks: int, faults: dict[str, Fault], name: str = ""
    ) -> None:
        self._server, self._lock = server, threading.Lock()
        self.name = name or str(steps)
        names = [f"{self.name}x{number}" for number in range(tasks)]
        self.courses = {
            name: Course(name, task, steps)
            for task in names
            for name in (f"{arm}/{task}" for arm in ARMS)
        }
        self.met: Counter[str] = Counter()
        server.plan({f"{arm}/{task}": fault for task, fault in faults.items() for arm in ARMS})

    def meets(self, name: str, fault: Fault) -> None:
        """Told before a fault strikes: with saving off the thread is worth nothing then."""
        from django.db import connection

        course = self.courses[name]
        with self._lock:
            self.met[f"{course.arm} {fault.kind}"] += 1
        if course.arm == "restart":
            self._give_up(course.threads[-1])
        connection.close()  # this thread of the server ends with the call

    def _give_up(self, thread: UUID) -> None:
        from checkpoints import store

        store.cancel(thread, actor="bench:1", reason="saving is off")

    def _input(self, course: Course) -> dict[str, Any]:
        return {"steps": course.steps}

    def _start(self, course: Course) -> None:
        from benchmarks.ground import start

        course.threads.append(start(self.agent, course=course.name, **self._input(course)))

    def _attend(self, course: Course, row: ThreadRow) -> None:
        """Do what people do about a thread as it stands."""
        from checkpoints import store
        from checkpoints.errors import GatepostError
        from checkpoints.states import Status

        if row.status is Status.CANCELLED:
            self._start(course)
        elif row.status in (Status.FAILED, Status.ATTENTION):
            try:
                store.retry(row.id, actor="bench:1")
            except GatepostError:
                pass  # it moved meanwhile

    def work(self) -> None:
        """Until every course has come to its end; TimeoutError otherwise."""
        from benchmarks.ground import workspace
        from checkpoints import queries
        from checkpoints.states import Status

        deadline = time.monotonic() + ENDS_SECONDS
        place = workspace()
        left = list(self.courses.values())
        for course in left:
            self._start(course)
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(left)} courses have not ended")
            time.sleep(0.05)
            going = []
            for course in left:
                row = queries.thread(course.threads[-1], workspace=place)
                if row.status is Status.SUCCEEDED:
                    continue
                self._attend(course, row)
                going.append(course)
            left = going

    # ---- what it took ----

    def wasted(self, arm: str) -> tuple[int, int]:
        """(calls, tokens) beyond what the tasks of an arm need."""
        mine = [course for course in self.courses.values() if course.arm == arm]
        needed = sum(
            sum(price(course.task, step)) for course in mine for step in range(1, course.steps + 1)
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
            for course in self.courses.values()
            if course.arm == "resume"
            for thread in course.threads
        ]
        return sum(s.calls for s in results), sum(s.tokens for s in results)
