"""One person supervises fifty agents: what needs a person is on top, the rest recovers."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import gates, queries
from approvals.policies.budgets import announce_budgets
from checkpoints import leases, store
from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.store.overview.budgets import set_budget
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import expire, rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A35")]
AGENTS = ("research", "payments", "outreach", "audit", "screening", "invoices")
BYTES_MAX = 60_000
NEEDS = (Status.ATTENTION, Status.FAILED, Status.WAITING)


class Fleet:
    """Fifty live threads of six agents, each moved by the verbs that workers use."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.versions = [scene.make_agent(name) for name in AGENTS]
        scene.alive(*self.versions)
        self.n = 0
        self.needs: dict[Status, list[UUID]] = {status: [] for status in NEEDS}
        self.working = [self.work() for _ in range(30)]
        for _ in range(4):
            row = scene.gate(self.work())
            self.needs[Status.WAITING].append(row.thread)
        for _ in range(3):
            work = self.work()
            store.leave(work, EventKind.THREAD_FAILED, reason="clean: column no_such is missing")
            self.needs[Status.FAILED].append(work.thread)
        for _ in range(2):
            work = self.work()
            store.leave(work, EventKind.THREAD_PARKED, reason="The worker was lost 3 times.")
            self.needs[Status.ATTENTION].append(work.thread)
        for _ in range(2):
            store.leave(self.work(), EventKind.THREAD_SLEPT, wake_at_seconds=3600)
        store.leave(self.work(), EventKind.THREAD_PAUSED)
        for _ in range(8):
            self.start()

    def start(self) -> UUID:
        """One more thread, of the next agent."""
        self.n += 1
        version = self.versions[self.n % len(AGENTS)]
        return scene.start(self.cast.workspace, version, by=self.cast.actor("operator").id)

    def work(self) -> Work:
        """One that a worker is at, after a step."""
        work = scene.lease(self.start())
        scene.step(work, report="draft")
        return work


@pytest.fixture
def fleet(cast: Cast, settings: Any) -> Fleet:
    settings.GATEPOST_LEASE_SECONDS = 30
    return Fleet(cast)


def board(cast: Cast, who: str = "operator") -> str:
    answer = cast.client(who).get("/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def counters(html: str) -> dict[str, int]:
    return {status: int(n) for status, n in re.findall(r'data-count="(\w+)">(\d+)', html)}


def lanes(html: str) -> dict[str, list[UUID]]:
    """{status: ids of its rows} in the order of the page."""
    return {
        status: [UUID(i) for i in re.findall(r'<tr id="thread-([0-9a-f-]{36})"', body)]
        for status, body in re.findall(r'<tbody id="lane-(\w+)".*?>(.*?)</tbody>', html, re.S)
    }


def test_the_board_of_fifty_is_small_right_and_shows_who_needs_a_person_first(
    cast: Cast, fleet: Fleet
) -> None:
    client = cast.client("operator")
    with CaptureQueriesContext(connection) as captured:
        html = client.get("/").content.decode()
    assert len(html.encode()) < BYTES_MAX
    assert len(captured) <= 20, [q["sql"][:80] for q in captured]
    counted = dict(rows("SELECT status, count(*)::int FROM gp_thread GROUP BY status"))
    assert sum(counted.values()) == 50
    assert {status: n for status, n in counters(html).items() if n} == counted
    shown = lanes(html)
    assert list(shown)[:2] == ["attention", "failed"]  # what an operator can do something about
    for status, threads in fleet.needs.items():
        assert set(shown[status]) == set(threads), "each of them is in the page"
    # Those that do well are summed up: a few rows, and the number of all.
    assert 0 < len(shown["running"]) < 30
    order = [thread for some in shown.values() for thread in some]
    calm = min(order.index(work.thread) for work in fleet.working if work.thread in order)
    assert all(order.index(t) < calm for some in fleet.needs.values() for t in some)


def test_a_manager_has_what_waits_for_them_first(cast: Cast, fleet: Fleet) -> None:
    shown = lanes(board(cast, "manager"))
    assert list(shown)[:3] == ["attention", "waiting", "failed"]
    assert set(shown["waiting"]) == set(fleet.needs[Status.WAITING])


def test_a_lost_worker_needs_nobody(cast: Cast, fleet: Fleet, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # PostgreSQL has been up for so long
    lost = fleet.working[0].thread
    expire(lost)
    before = counters(board(cast))
    assert (lost, "gatepost") in store.stranded_threads(queued_for_seconds=60)
    work = leases.take_over(lost, owner="worker:2:boot")
    assert work is not None
    scene.step(work, report="again")
    html = board(cast)
    assert counters(html) == before
    needs = {thread for status in NEEDS for thread in lanes(html).get(status, [])}
    assert lost not in needs


def test_what_a_person_settles_leaves_the_top(cast: Cast, fleet: Fleet) -> None:
    retried, decided = fleet.needs[Status.FAILED][0], fleet.needs[Status.WAITING][0]
    store.retry(retried, actor=cast.actor("operator").id)
    (row,) = queries.for_thread(decided, open_only=True)
    gates.decide(
        row.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer(cast.actor("manager").id, "manager"),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )
    html = board(cast)
    top = {thread for status in NEEDS for thread in lanes(html).get(status, [])}
    left = {thread for some in fleet.needs.values() for thread in some} - {retried, decided}
    assert top == left
    assert counters(html)["failed"] == len(fleet.needs[Status.FAILED]) - 1


def test_those_that_are_stuck_and_a_spent_budget_stand_above_them(cast: Cast, fleet: Fleet) -> None:
    silent = fleet.working[3].thread
    rows(
        "UPDATE gp_thread SET status_since = status_since - interval '1 hour', "
        "last_at = last_at - interval '1 hour' WHERE id = %s",
        (silent,),
    )
    store.note_stuck()
    scene.effect(fleet.working[4])  # 0.25
    set_budget(cast.workspace, scope="workspace", max_cost="0.30", actor="user:0")
    assert announce_budgets(owner="worker:1") == 1
    html = board(cast)
    assert len(html.encode()) < BYTES_MAX
    stuck = html.partition('id="board-stuck"')[2].partition("</div>")[0]
    assert len(re.findall(r"<b>1</b>", stuck)) == len(fleet.needs[Status.ATTENTION]) + 1
    budgets = html.partition('id="board-budgets"')[2].partition("</div>")[0]
    assert (
        re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", budgets))
        .strip()
        .endswith("Budget of the workspace 80 %")
    )
