"""What one reported step costs, in figures that no machine changes: statements and round trips."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from checkpoints import chain, queries
from checkpoints.queries.states import recent_digests
from checkpoints.state.digests import Digests
from dashboard.external import reports
from dashboard.identity import rate_limits
from tests.support.cast import Cast

from ..entry import Agent

CHANNELS = {"steps": "merge", "notes": "append"}
# The token, its user with their roles; the lease, and in the same round trip the effects that are
# not settled and what stands under the id; the commit; the answer.
STATEMENTS = 7


@pytest.fixture
def committed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what waits for the commit at once: the test's own transaction never is."""
    monkeypatch.setattr(transaction, "on_commit", lambda call, **_: call())


@pytest.fixture
def working(agent: Agent) -> Iterator[Agent]:
    agent.start(channels=CHANNELS)
    agent.take()
    yield agent
    assert chain.verify_thread(UUID(agent.thread)).intact


def commit(agent: Agent, step: int, ident: str = "", *, status: int = 201) -> Any:
    delta = {"merge": {"steps": {f"work {step}": "x" * 50}}, "append": {"notes": [step]}}
    return agent.commit(step, status=status, id=ident or str(uuid4()), nodes=["work"], delta=delta)


@pytest.mark.usefixtures("committed_at_once")
def test_a_step_takes_few_statements_whatever_the_length_of_its_past(working: Agent) -> None:
    for step in range(1, 4):
        commit(working, step)
    for step in range(4, 40):
        with CaptureQueriesContext(
            connection,
        ) as seen:
            commit(working, step)
        # Once a second it is looked whether policies name nodes.
        own = [q["sql"] for q in seen if "gp_policy" not in q["sql"]]
        assert len(own) == STATEMENTS, own


def test_digests_of_a_commit_that_was_taken_back_are_not_remembered(working: Agent) -> None:
    made = commit(working, 1)
    # The test's transaction is open.
    assert recent_digests.take(UUID(working.thread), UUID(made["checkpoint"]["id"])) is None


@pytest.mark.usefixtures("committed_at_once")
@pytest.mark.parametrize("forgets", [True, False])
def test_remembered_digests_are_those_of_the_record(working: Agent, forgets: bool) -> None:
    for step in range(1, 9):
        made = commit(working, step)
        if forgets and step % 2:
            recent_digests.take(UUID(working.thread), UUID(made["checkpoint"]["id"]))
    thread = UUID(working.thread)
    head = queries.checkpoint(thread, UUID(made["checkpoint"]["id"]))
    taken = recent_digests.take(thread, head.id)
    assert taken is not None
    assert (taken.root.hex(), taken.size) == (head.state_hash, head.state_bytes)
    assert recent_digests.take(thread, head.id) is None, "who builds upon them changes them"


def test_remembered_digests_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_digests, "WEIGHT_MAX", 10)
    thread, points = uuid4(), [uuid4() for _ in range(6)]
    for point in points:
        digests = Digests.of({"a": 1, "b": 2, "c": 3}, {})
        assert digests.weight == 3
        recent_digests.remember(thread, point, digests)
    remembered = [recent_digests.take(thread, point) is not None for point in points]
    assert remembered == [False, False, False, True, True, True]


def test_a_call_asks_valkey_twice_with_all_limits_on(
    working: Agent, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in rate_limits.LIMITS:
        setattr(settings, limit.setting, 10_000)
    trips: list[int] = []
    attempt = rate_limits.attempt
    monkeypatch.setattr(rate_limits, "attempt", lambda call: (trips.append(1), attempt(call))[1])
    commit(working, 1)
    assert len(trips) == 2, "by the address and strangers, then by the token"
    del trips[:]
    working.get("")
    assert len(trips) == 2, "by the address and strangers, then by the token and its person"


def test_what_a_person_wants_happens_also_after_a_commit_that_was_cut_off(
    working: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step is on record, and its process ended before the thread was left."""
    ident = str(uuid4())
    working.operate("pause/", {})
    stop = reports.committed.stop_where_due
    with monkeypatch.context() as cut:
        cut.setattr(reports.committed, "stop_where_due", lambda work: None)
        assert commit(working, 1, ident)["thread"]["status"] == "running"
    assert reports.committed.stop_where_due is stop
    assert commit(working, 1, ident, status=200)["thread"]["status"] == "paused"


def test_a_step_that_was_sent_twice_at_once_is_answered_twice(
    working: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looked before the first was committed: it finds the head moved."""
    ident = str(uuid4())
    look, before = reports.committed.committed, iter([True])
    committed = commit(working, 1, ident)

    def looked_too_early(*args: Any) -> Any:
        return None if next(before, False) else look(*args)

    held = reports.lease_of

    def as_before(*args: Any, **more: Any) -> Any:
        work = held(*args, **more)
        row = queries.checkpoint(work.thread, work.head)
        if row.parent is not None:
            work.head, work.number, work.step = row.parent, work.number - 1, work.step - 1
        return work

    monkeypatch.setattr(reports.committed, "committed", looked_too_early)
    monkeypatch.setattr(reports, "lease_of", as_before)
    again = commit(working, 1, ident, status=200)
    assert again["checkpoint"] == committed["checkpoint"]
