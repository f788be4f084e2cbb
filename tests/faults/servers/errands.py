"""Errands of `errand_agents`: begun and decided through two web hosts, judged from outside."""

from __future__ import annotations

import hashlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import httpx
from django.core.management import call_command

from checkpoints import store
from checkpoints.verdicts import Verdict, question_of
from tests.faults import invariants
from tests.faults.agents.errand_agents import content
from tests.faults.bench import Case, wait_until
from tests.faults.web import Person, race

from .hosts import Host, Hosts

ONCE_EVERY = 3  # every third errand has an effect that may not be repeated


def approve(reviewer: Person, request: dict[str, Any]) -> httpx.Response:
    body = {"verdict": "approve", "proposal_hash": request["proposal_hash"]}
    return reviewer.post(f"/approvals/{request['id']}/decide/", body)


class Errands:
    """The threads, begun and decided through both web hosts."""

    def __init__(self, hosts: Hosts, operators: list[Person], reviewers: list[Person]) -> None:
        self.hosts, self.operators, self.reviewers = hosts, operators, reviewers
        self.cases: dict[str, Case] = {}
        self.codes: Counter[int] = Counter()

    def begin(self, count: int) -> None:
        """Begin so many, by turns at either web host."""
        for _ in range(count):
            name = f"errand-{(number := len(self.cases))}"
            body = {"name": name, "once": number % ONCE_EVERY == 0}
            answer = self.operators[number % len(self.operators)].post(
                "/threads/", {"agent": "errand", "title": name, "input": body}
            )
            assert answer.status_code == 201, answer.text
            thread = UUID(answer.json()["id"])
            self.cases[name] = Case(thread, self.hosts.folder, self.hosts.workspace)

    def decide(self, *reviewers: Person) -> int:
        """Approve what waits, each by all of these at the same moment; one of them is heard."""
        listed = reviewers[0].get("/approvals/?status=pending").json()["results"]
        with ThreadPoolExecutor(len(reviewers)) as pool:
            for one in listed:
                calls = [partial(approve, reviewer, one) for reviewer in reviewers]
                answers = race(pool, *calls).answers if len(calls) == 2 else (calls[0](),)
                codes = [answer.status_code for answer in answers]
                assert codes.count(200) <= 1, codes
                assert set(codes) <= {200, 409, 503}, [answer.text for answer in answers]
                self.codes.update(codes)
        return len(listed)

    def settle(self) -> None:
        """Say of effects whose outcome nobody knows what the counter says."""
        for name, case in self.cases.items():
            row = case.row()
            if row.status == "attention":
                question = question_of(row.status, row.waiting_on)
                assert question is not None
                assert len(self.hosts.counter.of(name, "charge")) == 1
                store.settle(
                    case.id, activity=question.activity, verdict=Verdict.HAPPENED,
                    result="charge done", reason="The counter says so", actor="user:1",
                )  # fmt: skip

    def past_carry(self, names: set[str]) -> bool:
        """Whether each of these effects is on record as done, or asked about."""
        cases = [self.cases[name] for name in names]
        return all(
            "effect.finished" in case.kinds() or case.row().status == "attention" for case in cases
        )

    def summary(self) -> str:
        lines = [f"{name}: {case.summary()}" for name, case in self.cases.items()]
        return "\n".join([*lines, self.hosts.logs()])

    def wait_held(self, *by: Host, slots: int) -> set[str]:
        """Wait until each of these hosts is in the middle of an effect in all its slots."""
        counter = self.hosts.counter
        wait_until(
            lambda: all(len(counter.waiting(host.name)) == slots for host in by),
            what=self.summary,
        )
        return {call.name for host in by for call in counter.waiting(host.name)}

    def wait_taken_over(self, names: set[str]) -> None:
        """Wait until another process has taken the lease of each of these."""
        for name in names:
            self.cases[name].wait_event("lease.taken_over")

    def end(self) -> None:
        """Decide and settle all that asks, until every thread has succeeded."""

        def all_ended() -> bool:
            self.decide(*self.reviewers)
            self.settle()
            return all(case.row().status == "succeeded" for case in self.cases.values())

        wait_until(all_ended, seconds=90, what=self.summary)

    def judge(self) -> None:
        """The verdict: by what the counter counted, and by each thread's record."""
        counter = self.hosts.counter
        for name, case in self.cases.items():
            invariants.check_record(case)
            assert case.state()["sha256"] == hashlib.sha256(content(name)).hexdigest()
            done = {effect.idempotency_key: effect.state for effect in case.effects()}
            called = [counter.of(name, "deliver", "charge"), counter.of(name, "send")]
            assert [len({call.key for call in calls}) for calls in called] == [1, 1], called
            assert done == {calls[0].key: "done" for calls in called}
            assert len(counter.of(name, "charge")) <= 1
        decided = "SELECT count(*), count(DISTINCT approval_id) FROM gp_decision"
        assert self.hosts.ask(decided) == [(len(self.cases), len(self.cases))]
        call_command("verify")  # raises unless intact
