"""`python -m benchmarks.wasted_work [--seed S]`: what resuming spares of what faults cost.

Each task is worked twice on the same engine, in real workers: `resume` goes on from the record;
`restart` has saving off, that is at the fault its thread is cancelled and the task begins again
from its input. 15 to 30 % of the tasks meet one fault at a step drawn uniformly: 429, 503, a
time-out, or kill -9 of the process that works. Calls and tokens are counted by the server that is
called, not by the engine. Waste is what was called beyond what the task needs without a fault.

One JSON line per length (row B05, at 20 steps with the budget) and one that compares what the
product says it has saved with what restarting really cost (row A36).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from . import parts, servers
from .charging import KINDS, SERVER, Charging, Fault, charging, price
from .report import dumped, tidy

LENGTHS = (5, 20, 100)  # steps
JUDGED, BUDGET = 20, 60.0  # at so many steps at least so many per cent of the waste are spared
TASKS = {5: 120, 20: 100, 100: 40}
SHARE = (0.15, 0.30)
ARTICLE = 82.0  # per cent less waste, as the article claims; not measured here
ARMS = ("resume", "restart")
AGENT = "bench-wasting"
LEASE_SECONDS, SWEEP_SECONDS = 3.0, 0.25
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


def drawn(seed: int, steps: int, tasks: int) -> dict[str, Fault]:
    """{task: the fault that it meets}, the same in both arms."""
    chance = random.Random(f"{seed}/{steps}")
    faulty = max(1, round(tasks * chance.uniform(*SHARE)))
    return {
        f"{steps}x{number}": Fault(chance.randint(1, steps), chance.choice(KINDS))
        for number in sorted(chance.sample(range(tasks), faulty))
    }


class Field:
    """All courses of one length: started, retried, restarted, until each has ended well."""

    def __init__(self, server: Charging, steps: int, tasks: int, faults: dict[str, Fault]) -> None:
        self._server, self._lock = server, threading.Lock()
        names = [f"{steps}x{number}" for number in range(tasks)]
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

        from checkpoints import store

        course = self.courses[name]
        with self._lock:
            self.met[f"{course.arm} {fault.kind}"] += 1
        if course.arm == "restart":
            store.cancel(course.threads[-1], actor="bench:1", reason="saving is off")
        connection.close()  # this thread of the server ends with the call

    def _start(self, course: Course) -> None:
        from .ground import start

        course.threads.append(start(AGENT, course=course.name, steps=course.steps))

    def work(self) -> None:
        """Until every course has come to its end; TimeoutError otherwise."""
        from checkpoints import queries, store
        from checkpoints.errors import GatepostError
        from checkpoints.states import Status

        from .ground import workspace

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
                if row.status is Status.CANCELLED:
                    self._start(course)
                elif row.status in (Status.FAILED, Status.ATTENTION):
                    try:
                        store.retry(row.id, actor="bench:1")
                    except GatepostError:
                        pass  # it moved meanwhile
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

    def said(self) -> tuple[int, int]:
        """(calls, tokens) that the product says it did not make again."""
        from checkpoints import queries

        from .ground import workspace

        found = [
            queries.saved(queries.thread(thread, workspace=workspace()))
            for course in self.courses.values()
            if course.arm == "resume"
            for thread in course.threads
        ]
        return sum(s.calls for s in found), sum(s.tokens for s in found)


def spared(resumed: float, restarted: float) -> float:
    """Per cent of what restarting wastes."""
    return 100.0 * (1 - resumed / restarted) if restarted > 0 else 0.0


def line(steps: int, field: Field, faults: dict[str, Fault], seed: int) -> dict[str, Any]:
    """The line of one length; judged by the worse of calls and tokens."""
    (calls, tokens), (all_calls, all_tokens) = field.wasted("resume"), field.wasted("restart")
    of_calls, of_tokens = spared(calls, all_calls), spared(tokens, all_tokens)
    value = min(of_calls, of_tokens)
    tasks = len(field.courses) // len(ARMS)
    budget = BUDGET if steps == JUDGED else None
    met_all = field.met.total() == len(ARMS) * len(faults)
    return {
        "row": "B05",
        "what": f"waste spared by resuming, {steps} steps",
        "value": tidy(value),
        "unit": "% of what restarting wastes",
        "baseline": all_calls,
        "ratio": tidy(calls / all_calls) if all_calls else None,
        "budget": budget,
        "ok": met_all and all_calls > 0 and value >= (budget or 0.0),
        "article": ARTICLE,
        "steps": steps,
        "tasks": tasks,
        "seed": seed,
        "faulty": len(faults),
        "faulty_share": tidy(len(faults) / tasks),
        "fault_steps": sorted(fault.step for fault in faults.values()),
        "fault_kinds": dict(Counter(fault.kind for fault in faults.values())),
        "met": dict(field.met),
        "calls": {"needed": 2 * steps * tasks, "wasted": calls, "wasted_by_restart": all_calls,
                  "spared_percent": tidy(of_calls)},
        "tokens": {"wasted": tokens, "wasted_by_restart": all_tokens,
                   "spared_percent": tidy(of_tokens)},
    }  # fmt: skip


def accounted(fields: Sequence[Field], seed: int) -> dict[str, Any]:
    """What the product says it saved against what the same faults cost without saving.

    It may say less (a call that was tried again in place is not counted), never more.
    """
    said = [sum(found) for found in zip(*(f.said() for f in fields), strict=True)]
    cost = [sum(found) for found in zip(*(f.wasted("restart") for f in fields), strict=True)]
    return {
        "row": "A36",
        "what": "tokens that threads say they saved, against those that restarting cost",
        "value": said[1],
        "unit": "tokens",
        "baseline": cost[1],
        "ratio": tidy(said[1] / cost[1]) if cost[1] else None,
        "budget": cost[1],
        "ok": 0 < said[1] <= cost[1] and 0 < said[0] <= cost[0],
        "calls_said": said[0],
        "calls_of_restart": cost[0],
        "seed": seed,
    }


def measure(seed: int, scale: float, lengths: Sequence[int] = LENGTHS) -> Iterator[dict[str, Any]]:
    """The lines; starts servers and a worker, and ends them."""
    fields: list[Field] = []

    def met(name: str, fault: Fault) -> None:
        fields[-1].meets(name, fault)

    os.environ["GATEPOST_LEASE_SECONDS"] = str(LEASE_SECONDS)
    os.environ["GATEPOST_SWEEP_SECONDS"] = str(SWEEP_SECONDS)
    with charging(met) as server, servers.bench() as bench:
        os.environ[SERVER] = server.address
        with parts.worker(bench, agents="benchmarks.agents.wasting"):
            for steps in lengths:
                tasks = max(4, round(TASKS[steps] * scale))
                faults = drawn(seed, steps, tasks)
                fields.append(Field(server, steps, tasks, faults))
                fields[-1].work()
                yield line(steps, fields[-1], faults, seed)
            yield accounted(fields, seed)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if a line is not ok."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wasted_work", description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual tasks")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="steps, such as 5")
    given = parser.parse_args(arguments)
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    good = True
    for found in measure(given.seed, given.scale, [int(n) for n in given.lengths.split(",")]):
        good = good and found["ok"]
        print(dumped(found), file=answers, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
