"""A sound record: tasks played by the real agents in a harness, at a real bank, into real folders.

Only the log is made up, since a harness keeps the time of its own clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agents.market_research.agent import graph as research
from agents.payments.agent import graph as payments
from tests.workers.agents.bank import Bank
from workers.testing.harness import Harness, Played, Reject

from . import payables, reports, tasks
from .ground import pay_before
from .record import Effect, Record, Thread, files_in, lines, reports_in
from .rights import MANAGER, ref

GRAPHS = {tasks.PAYMENTS: payments, tasks.RESEARCH: research}


def played(bank: Bank, home: Path, numbers: Iterable[int]) -> Record:
    """What is left when these tasks are done."""
    numbers = list(numbers)
    pay_before(bank.url, max(numbers))
    harnesses = {agent: Harness(graph) for agent, graph in GRAPHS.items()}
    threads, acks = {}, []
    for task in numbers:
        harness = harnesses[tasks.agent(task)]
        made = payables if tasks.agent(task) == tasks.PAYMENTS else reports
        given = dict(made.VALUES)
        for field, (name, raw) in made.files(task).items():
            sha = hashlib.sha256(raw).hexdigest()
            harness.book.files[sha] = (name, "text/csv", raw)
            given[field] = ref(name, raw)
            acks.append({"command": "upload", "sha256": sha, "task": task})
        no = Reject(tasks.comment(task), by=MANAGER)
        decide = "approve" if tasks.verdict(task) == "approve" else no
        thread = _thread(task, harness.play(given, decide=decide))
        threads[thread.id] = thread
        acks += [
            {"command": "start", "thread": thread.id, "task": task},
            {"command": "decide", "thread": thread.id, "approval": f"a{task}",
             "verdict": tasks.verdict(task)},
        ]  # fmt: skip
    kept = {sha: raw for h in harnesses.values() for sha, (_, _, raw) in h.book.files.items()}
    return Record(
        threads, lines(bank.ledger), acks, files_in(home / "outbox"),
        reports_in(home / "published"), kept,
    )  # fmt: skip


def _thread(task: int, done: Played) -> Thread:
    events: list[tuple[int, str, dict[str, Any], float]] = [
        (1, "thread.started", {}, 1.0),
        (2, "lease.acquired", {}, 2.0),
        (3, "checkpoint.committed", {"checkpoint": f"c{task}"}, 3.0),
        (4, "approval.decided", {"approval": f"a{task}", "outcome": tasks.verdict(task)}, 4.0),
        (5, "thread.succeeded", {}, 5.0),
    ]
    ids = [str(checkpoint.id) for checkpoint in done.checkpoints]
    effects = [
        Effect(e.tool, e.idempotency_key, e.attempts, None, str(e.state)) for e in done.effects
    ]
    steps = sum(checkpoint.source == "step" for checkpoint in done.checkpoints)
    return Thread(
        str(done.id), tasks.agent(task), str(done.status), len(events), ids[-1], done.state, steps,
        ids, events, effects,
    )  # fmt: skip
