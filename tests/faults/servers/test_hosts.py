"""Four worker hosts and two web hosts without a shared folder, struck one after the other."""

from __future__ import annotations

import hashlib
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from checkpoints import store
from checkpoints.verdicts import Verdict, question_of
from tests.faults import invariants
from tests.faults.agents.errand_agents import content
from tests.faults.bench import Case, wait_until
from tests.faults.web import Person, people, race
from tests.support.disturbed_server import Disturbed

from .hosts import Host, Hosts, own_hosts

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.requirement("F13"),
    pytest.mark.requirement("B30"),
]
SLOTS = 2
OFF = 7 * 60  # seconds by which the clock of one host is ahead
ONCE_EVERY = 3  # every third errand has an effect that may not be repeated


@pytest.fixture
def hosts(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[Hosts]:
    with own_hosts(django_db_blocker, tmp_path) as made:
        yield made


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
            answer = self.operators[number % 2].post(
                "/threads/", {"agent": "errand", "title": name, "input": body}
            )
            assert answer.status_code == 201, answer.text
            thread = UUID(answer.json()["id"])
            self.cases[name] = Case(thread, self.hosts.folder, self.hosts.cast.workspace)

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

    def ended(self) -> bool:
        return all(case.row().status == "succeeded" for case in self.cases.values())

    def summary(self) -> str:
        lines = [f"{name}: {case.summary()}" for name, case in self.cases.items()]
        return "\n".join([*lines, self.hosts.logs()])


def test_every_thread_ends_right_and_none_twice(hosts: Hosts) -> None:
    counter = hosts.counter
    counter.hold("deliver", "charge")
    with ExitStack() as stack:
        clock = Disturbed()
        stack.callback(clock.remove)
        clock.shift(OFF)
        webs = [hosts.start_web(f"web-{number}") for number in (1, 2)]
        killed, frozen, parted = (
            hosts.start_worker(f"worker-{number}", slots=SLOTS) for number in (1, 2, 3)
        )
        early = hosts.start_worker("worker-4", slots=SLOTS, **clock.environment)
        first = [killed, frozen, parted, early]
        for host in first:
            host.process.wait_ready()
        staff: dict[str, list[Person]] = {"operator": [], "reviewer": []}
        for web in webs:
            assert web.web is not None
            web.web.wait_ready()
            for role, members in staff.items():
                names = people(web.web, hosts.cast.workspace, role, f"{role}-{web.name}")
                members += stack.enter_context(names)
        errands = Errands(hosts, staff["operator"], staff["reviewer"])

        def held(*by: Host) -> None:
            """Wait until each of these hosts is in the middle of an effect in all its slots."""
            wait_until(
                lambda: all(len(counter.waiting(host.name)) == SLOTS for host in by),
                what=errands.summary,
            )

        # First: one host is gone, one stands still, one reaches neither server.
        errands.begin(30)
        held(*first)
        struck = {
            call.name for host in (killed, frozen, parted) for call in counter.waiting(host.name)
        }
        killed.lose()
        frozen.process.signal(signal.SIGSTOP)
        parted.part()
        counter.release()
        for name in struck:
            errands.cases[name].wait_event("lease.taken_over")
        assert killed.process.process.returncode == -signal.SIGKILL
        assert Path(f"/proc/{frozen.process.pid}/stat").read_text().rpartition(") ")[2][0] == "T"
        wait_until(lambda: parted.postgres.parted and parted.valkey.parted, what=errands.summary)

        # They come back, the lost one with other folders, and all work again.
        frozen.process.signal(signal.SIGCONT)
        parted.join()
        again = hosts.start_worker("worker-5", slots=SLOTS)
        again.process.wait_ready()
        counter.hold("deliver", "charge")
        errands.begin(16)
        second = [frozen, parted, again, early]
        held(*second)

        # Second: one host reaches PostgreSQL alone, the one with another clock is gone, and a web
        # host reaches no PostgreSQL.
        late = {call.name for call in counter.waiting(parted.name)}
        left = {call.name for call in counter.waiting(early.name)}
        parted.valkey.part()
        early.lose()
        webs[1].postgres.part()
        counter.release()
        wait_until(lambda: errands.past_carry(late), what=errands.summary)
        assert parted.valkey.parted
        for name in left:
            errands.cases[name].wait_event("lease.taken_over")
        wait_until(
            lambda: hosts.ready(webs[1]).get("database") == "down",
            what=lambda: hosts.ready(webs[1]),
        )
        assert hosts.ready(webs[0])["database"] == "ok"
        wait_until(lambda: errands.decide(staff["reviewer"][0]), what=errands.summary)
        parted.valkey.join()
        webs[1].postgres.join()
        wait_until(lambda: hosts.ready(webs[1]).get("ready"), what=lambda: hosts.ready(webs[1]))

        def all_ended() -> bool:
            errands.decide(*staff["reviewer"])
            errands.settle()
            return errands.ended()

        wait_until(all_ended, seconds=90, what=errands.summary)
        judge(hosts, errands, struck | left)
        for host in (frozen, parted, again, *webs):
            data = host.home / "data"
            assert not [path for path in data.rglob("*") if path.is_file()], "it kept a file"
    assert errands.codes[409] >= 1, "nobody decided at both web hosts at the same moment"


def judge(hosts: Hosts, errands: Errands, struck: set[str]) -> None:
    """The verdict: by what the counter counted, and by each thread's record."""
    counter = hosts.counter
    assert len(struck) == 4 * SLOTS
    for name, case in errands.cases.items():
        invariants.check_record(case)
        assert case.state()["sha256"] == hashlib.sha256(content(name)).hexdigest()
        assert "lease.taken_over" in case.kinds() or name not in struck
        done = {effect.idempotency_key: effect.state for effect in case.effects()}
        called = [counter.of(name, "deliver", "charge"), counter.of(name, "send")]
        assert [len({call.key for call in calls}) for calls in called] == [1, 1], called
        assert done == {calls[0].key: "done" for calls in called}
        assert len(counter.of(name, "charge")) <= 1
    decided = "SELECT count(*), count(DISTINCT approval_id) FROM gp_decision"
    assert hosts.ask(decided) == [(len(errands.cases), len(errands.cases))]
    call_command("verify")  # raises unless intact
    ahead = {call.host: call.ahead for call in counter.calls}
    assert {host: shift > OFF / 2 for host, shift in ahead.items()} == {
        f"worker-{number}": number == 4 for number in range(1, 6)
    }
