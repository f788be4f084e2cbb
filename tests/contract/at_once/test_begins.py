"""One effect begun by several requests at the same moment: one is told to call, whatever n is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from checkpoints import chain, leases, queries
from checkpoints.records import Position
from checkpoints.states import EventKind
from dashboard.identity import tokens
from tests.contract.external.conftest import driver
from tests.contract.external.entry import Agent, Answer
from tests.support.cast import Cast, make_cast
from workers.external.open_step import open_step
from workers.external.reported import Reported, tool_of

from . import together

ROUNDS = 10
BODY = {"node": "work", "key": "charge#0", "kind": "effect", "tool": "charge", "args": {"cents": 1}}
GATE = {"title": "Charge the card", "risk": "high"}


@pytest.fixture
def cast_(real_db: str) -> Cast:
    return make_cast()


@pytest.fixture
def agent(cast_: Cast) -> Agent:
    scopes = {"operator": ["start", "work", "control"], "manager": ["decide"]}
    made = {
        who: tokens.make(cast_.users[who], made_by="test", scopes=names)[1]
        for who, names in scopes.items()
    }
    return Agent(driver(made["operator"]), driver(made["manager"]))


def begins(agent: Agent, n: int, body: Any) -> list[Answer]:
    """The answers of n begins that are sent together."""
    return together([partial(agent.call, "POST", "activities/begin/", body)] * n)


def events(agent: Agent, kind: EventKind) -> int:
    return len(queries.events_after(UUID(agent.thread), 0, kinds=[str(kind)]))


def is_intact(agent: Agent) -> bool:
    report = chain.verify_thread(UUID(agent.thread))
    assert report.intact, report
    return True


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("approved", [False, True])
def test_one_of_n_begins_of_an_effect_is_told_to_call(agent: Agent, n: int, approved: bool) -> None:
    body = BODY | ({"gate": GATE} if approved else {})
    called = 0
    for _ in range(ROUNDS):
        agent.lease = ""
        agent.start(tools={"charge": {}})
        agent.take()
        if approved:
            assert agent.post("activities/begin/", body)["do"] == "wait"
            agent.decide()
            agent.take()
        answers = begins(agent, n, body)
        outcomes = Counter(a.body["do"] if a.status == 200 else a.code for a in answers)
        called += outcomes["call"]
        assert outcomes["call"] == 1, outcomes
        # The second finds it begun: nobody knows whether it happens, and the lease is gone.
        assert outcomes["stop"] == 1, outcomes
        assert outcomes["lease-lost"] == n - 2, outcomes
        assert events(agent, EventKind.EFFECT_STARTED) == 1
        assert agent.get("")["status"] == "attention"
        assert is_intact(agent)
    assert called == ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
def test_begins_of_a_repeatable_effect_are_attempts_under_one_key(agent: Agent, n: int) -> None:
    for _ in range(ROUNDS):
        agent.lease = ""
        agent.start(tools={"charge": {"idempotent": True}})
        agent.take()
        answers = begins(agent, n, BODY)
        assert {a.body["do"] for a in answers} == {"call"}
        assert len({a.body["idempotency_key"] for a in answers}) == 1
        assert sorted(a.body["activity"]["attempts"] for a in answers) == list(range(1, n + 1))
        assert is_intact(agent)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
def test_n_settles_at_once_record_one_outcome(agent: Agent, n: int) -> None:
    for _ in range(ROUNDS):
        agent.lease = ""
        agent.start(tools={"charge": {}})
        agent.take()
        assert agent.begin("charge#0", args={"cents": 1})["do"] == "call"
        effect = {name: BODY[name] for name in ("node", "key", "kind", "tool")}
        settles = [effect | {"state": "done", "result": {"id": i}} for i in range(n)]
        answers = together(
            [partial(agent.call, "POST", "activities/settle/", body) for body in settles]
        )
        assert {a.status for a in answers} == {200}, answers
        assert len({a.body["activity"]["result"]["id"] for a in answers}) == 1
        assert events(agent, EventKind.EFFECT_FINISHED) == 1
        assert is_intact(agent)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("checkpoints/", {"step": 1, "delta": {"set": {"n": 1}}}),
        ("lease/release/", {"as": "succeeded"}),
        ("lease/release/", {"as": "queued"}),
    ],
)
def test_nothing_that_comes_with_a_begin_passes_its_effect(
    agent: Agent, path: str, body: Any
) -> None:
    seen = Counter[tuple[str, str]]()
    for _ in range(ROUNDS):
        agent.lease = ""
        agent.start(tools={"charge": {}})
        agent.take()
        effect = {**BODY, "step": 1}
        begun, passed = together(
            [
                partial(agent.call, "POST", "activities/begin/", effect),
                partial(agent.call, "POST", path, body),
            ]
        )
        outcome = (
            begun.body["do"] if begun.status == 200 else begun.code,
            "done" if passed.status < 300 else passed.code,
        )
        assert outcome in {
            ("call", "not-allowed-now"),
            ("stale", "done"),
            ("lease-lost", "done"),
        }, (begun, passed)
        seen[outcome] += 1
        assert is_intact(agent)
    assert seen.total() == ROUNDS


@pytest.mark.parametrize("settled", [False, True])
def test_verify_accuses_nobody_of_two_starts_of_one_attempt(
    agent: Agent, cast_: Cast, settled: bool
) -> None:
    """Records of former versions, in which two begins that came together both started it."""
    agent.start(tools={"charge": {}})
    agent.take()
    held = leases.held(
        UUID(agent.thread), token=UUID(agent.lease), workspace=cast_.actor("operator").workspace
    )
    assert held is not None
    at = Position(held.branch, held.step + 1, "work", 0, "charge#0")
    looked = [Reported(open_step(replace(held)), at) for _ in range(2)]
    answers = [one.begin_effect(tool_of("charge", {}), {"cents": 1}, None) for one in looked]
    assert [a.do for a in answers] == ["call", "call"]
    assert events(agent, EventKind.EFFECT_STARTED) == 2
    if settled:
        agent.settle("charge#0", result={"id": 1})
    assert is_intact(agent)
    # And it still sees what was altered: the times, the content, a row that is gone.
    for change in (
        "UPDATE gp_activity SET started_at = started_at - interval '1 hour'",
        "UPDATE gp_activity SET tool = 'refund'",
        "UPDATE gp_activity SET args = '{\"cents\": 2}'",
        "DELETE FROM gp_activity",
    ):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(f"{change} WHERE thread_id = %s", (agent.thread,))
            assert not chain.verify_thread(UUID(agent.thread)).intact, change
            transaction.set_rollback(True)
