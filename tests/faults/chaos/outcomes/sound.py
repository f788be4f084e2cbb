"""A sound record: tasks played by the real agents in a harness, at a real bank, into real folders.

Only the log is made up, since a harness keeps the time of its own clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from checkpoints.queries.rows import rows
from gatepost_agents.market_research.agent import graph as research
from gatepost_agents.payments.agent import graph as payments
from tests.faults.chaos import hot_agents, tasks, tree_agents
from tests.faults.chaos.ground import pay_before
from tests.unit.agents.testbank.bank import Bank
from workers.testing.harness import Harness, Played, Reject

from . import payables, reports, trees
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
        values = dict(made.VALUES)
        for field, (name, raw) in made.files(task).items():
            sha = hashlib.sha256(raw).hexdigest()
            harness.plays.files[sha] = (name, "text/csv", raw)
            values[field] = ref(name, raw)
            acks.append({"command": "upload", "sha256": sha, "task": task})
        no = Reject(tasks.comment(task), by=MANAGER)
        decide = "approve" if tasks.verdict(task) == "approve" else no
        thread = _thread(task, harness.play(values, decide=decide))
        threads[thread.id] = thread
        acks += [
            {"command": "start", "thread": thread.id, "task": task},
            {"command": "decide", "thread": thread.id, "approval": f"a{task}",
             "verdict": tasks.verdict(task)},
        ]  # fmt: skip
    saved = {sha: raw for h in harnesses.values() for sha, (_, _, raw) in h.plays.files.items()}
    return Record(
        threads, lines(bank.ledger), acks, files_in(home / "outbox"),
        reports_in(home / "published"), saved,
    )  # fmt: skip


def grown(home: Path, numbers: Iterable[int]) -> Record:
    """What is left of these trees; their counts lie in `home`."""
    threads: list[Thread] = []
    for number in numbers:
        task = tasks.tree(number)
        first = next(graph for graph in tree_agents.GRAPHS if graph.name == task["agent"])
        harness = Harness(first, agents=[g for g in tree_agents.GRAPHS if g is not first])
        harness.play({k: v for k, v in task["input"].items() if v is not None})
        look = "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid ORDER BY id"
        for (ident,) in harness.plays.call(rows, look, (harness.plays.workspace,)):
            threads.append(_of_tree(Played(harness, ident), harness.plays.row(ident)))
    record = Record({thread.id: thread for thread in threads}, [], [])
    record.counts = lines(home / "counts.jsonl")
    record.acknowledged = [
        {"command": "start", "thread": t.id, "task": t.task}
        for t in threads if t.agent in trees.FIRST
    ]  # fmt: skip
    return record


def buffered(numbers: Iterable[int]) -> Record:
    """What is left of these hot threads, each step of which was seen waiting."""
    harness, record = Harness(hot_agents.graph), Record({}, [], [])
    for number in numbers:
        done = harness.play(tasks.hot(number)["input"], decide="approve")
        thread = _of_tree(done, harness.plays.row(done.id))
        record.threads[thread.id] = thread
        record.acknowledged.append({"command": "start", "thread": thread.id, "task": thread.task})
        record.waited += [
            {"thread": thread.id, "checkpoint": point, "number": number, "state_hash": hashed}
            for number, (point, hashed) in enumerate(thread.state_hashes.items())
        ]
    return record


def _of_tree(done: Played, row: Any) -> Thread:
    points = done.checkpoints
    return Thread(
        str(done.id), row.agent, str(done.status), len(done.events), str(points[-1].id), done.state,
        steps=sum(point.source == "step" for point in points),
        checkpoints=[str(point.id) for point in points],
        # A harness keeps the time of its own clock.
        events=[(e.seq, e.kind, e.data, float(e.seq)) for e in done.events],
        effects=[Effect(e.tool, e.idempotency_key, e.attempts, None, str(e.state))
                 for e in done.effects],
        parent=row.parent and str(row.parent), base=row.base and str(row.base),
        state_hashes={str(point.id): point.state_hash for point in points},
        hashes={event.seq: event.hash for event in done.events},
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
