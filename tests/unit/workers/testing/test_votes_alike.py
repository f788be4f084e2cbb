"""Chance decides who says what to a request; the database and the tables must answer alike."""

from __future__ import annotations

import json
import random
from typing import Any
from uuid import UUID

import pytest

from approvals import gates, queries
from approvals.gates import Proposal, Reviewer
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints.errors import GatepostError
from checkpoints.records import Position
from tests.unit.approvals.cast import BOSS, LENA, MIRA, NEW, OMAR, SCHEMA
from tests.unit.checkpoints.builders import drive, make_thread, rows
from tests.unit.workers.graphs import samples
from tests.unit.workers.memory_bench import memory_bench_of
from workers.testing.memory import reads as reading
from workers.testing.memory import requests

pytestmark = pytest.mark.nightly

OTHER = NEW | {"price": "9.00"}
PEOPLE = (MIRA, OMAR, LENA, BOSS, Reviewer("user:2/token:abcdefgh", "Mira", "mira", ("finance",)))
TERMS = (
    Terms(stages=(Seat(count=2),), undo_window=3600),
    Terms(stages=(Seat(teams=("finance",)), Seat(teams=("legal",), count=2))),
    Terms(stages=(Seat(count=3),), four_eyes=True, barred=("user:3",)),
    Terms(undo_window=3600),
    Terms(on_expiry="escalate", escalate_to=Seat(people=("boss",)), escalate_for=60),
    Terms(stages=(Seat(people=("mira",), count=1),), on_expiry="reject", rule="Sums"),
)
VARY = {"approval", "decision", "decision_hash", "at", "decided_at", "effective_at", "seal"} | {
    "proposal_hash", "standing_hash", "seen", "decide_by", "escalated_at",
}  # fmt: skip


def proposal(branch: int, step: int, terms: Terms) -> Proposal:
    return Proposal(
        Position(branch, step, "buy", 0, "publish#0"),
        "gate",
        "publish",
        {"report": "Tides", "price": "12.50"},
        "Publish?",
        schema=SCHEMA,
        policy_version="p@1",
        expires_in=3600.0,
        terms=terms,
    )


class InDatabase:
    def __init__(self, terms: Terms) -> None:
        work = drive(make_thread(), 1).work
        assert gates.request(work, [proposal(work.branch, work.step + 1, terms)])
        [row] = queries.for_thread(work.thread)
        self.thread, self.id, self.workspace = work.thread, row.id, row.workspace

    def row(self) -> ApprovalRow:
        return queries.approval(self.id, workspace=self.workspace)

    def counts(self) -> list[bool]:
        return [vote.counts for vote in queries.votes(self.id)]

    def decide(self, **message: Any) -> Any:
        return gates.decide(self.id, workspace=self.workspace, **message)

    def take_back(self, who: Reviewer) -> Any:
        return gates.take_back(self.id, workspace=self.workspace, reviewer=who)

    def expire(self) -> int:
        rows("UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = %s", [self.id])
        return gates.expire_due()

    def settle(self) -> int:
        rows("UPDATE gp_approval SET effective_at = clock_timestamp() WHERE id = %s", [self.id])
        return gates.settle_due()

    def log(self) -> list[Any]:
        result = rows(
            "SELECT kind, actor, data FROM gp_event WHERE thread_id = %s ORDER BY seq",
            [self.thread],
        )
        return comparable([(kind, actor, json.loads(data)) for kind, actor, data in result])


class InMemory:
    def __init__(self, terms: Terms) -> None:
        bench = memory_bench_of(samples)
        self.thread: UUID = bench.start()
        work, self.tables = bench.lease(self.thread), bench.tables
        assert bench.ledger().ask(work, [proposal(work.branch, work.step + 1, terms)])
        [row] = reading.approvals(self.tables, self.thread)
        self.id = row.id

    def row(self) -> ApprovalRow:
        return reading.approval(self.tables, self.id)

    def counts(self) -> list[bool]:
        counted = self.row().progress.decisions
        return [vote.decision in counted for vote in self.tables.votes[self.id]]

    def decide(self, **message: Any) -> Any:
        return requests.decide(self.tables, self.id, **message)

    def take_back(self, who: Reviewer) -> Any:
        return requests.take_back(self.tables, self.id, reviewer=who)

    def expire(self) -> int:
        self.tables.pass_time(4000)
        return requests.expire_due(self.tables)

    def settle(self) -> int:
        self.tables.pass_time(4000)
        return requests.settle_due(self.tables)

    def log(self) -> list[Any]:
        results = [(e.kind, e.actor, e.data) for e in reading.events(self.tables, self.thread)]
        return comparable(results)


def comparable(events: list[tuple[str, str, Any]]) -> list[Any]:
    """What a log says of requests, without ids, hashes and times."""
    return [
        (str(kind), actor, {k: v for k, v in data.items() if k not in VARY}, sorted(data))
        for kind, actor, data in events
        if str(kind).partition(".")[0] in ("approval", "decision") and "requested" not in str(kind)
    ]


def play(at: InDatabase | InMemory, seed: int) -> list[Any]:
    chance, messages = random.Random(seed), []
    for _ in range(12):
        who = chance.choice(PEOPLE)
        verb = chance.choice(["approve"] * 5 + ["edit"] * 3 + ["respond", "take_back"] * 2)
        verb = chance.choice([verb] * 9 + ["reject"])
        args = chance.choice([NEW, OTHER])
        try:
            if verb == "take_back":
                at.take_back(who)
            else:
                more: dict[str, Any] = {"args": args} if verb == "edit" else {"comment": verb}
                seen = at.row().standing_hash
                at.decide(reviewer=who, verdict=verb, proposal_hash=seen, **more)
            came = ""
        except GatepostError as error:
            came = f"{type(error).__name__}: {error}"
        row = at.row()
        due = (row.progress.done_by, sorted(row.due_seats), sorted(row.due_except))
        messages.append(
            (verb, who.name, came, row.status, row.outcome, row.shown_args, row.comment)
        )
        messages.append((row.decided_by, row.decided_args, at.row().open, due))
    end = chance.choice([at.settle, at.expire])
    messages.append((end.__name__, end(), end(), at.row().status, at.row().outcome))
    return messages


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("seed", range(12))
def test_whoever_says_what_both_answer_alike(db: None, terms: Terms, seed: int) -> None:
    real, memory = InDatabase(terms), InMemory(terms)
    message = play(real, seed)
    assert play(memory, seed) == message
    assert memory.log() == real.log()
    if real.log():
        assert memory.counts() == real.counts() or not memory.tables.votes
