"""An effect that began and was never settled: nobody's lease, report or release passes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import chain, leases, queries
from checkpoints.errors import LeaseLost
from dashboard.external import reports
from tests.contract.external.entry import Agent
from tests.support.cast import Cast
from workers.external import committed

Pass = Callable[[Agent], Any]
BESIDE: dict[str, dict[str, Any]] = {
    "checkpoints/": {"step": 1, "delta": {"set": {"n": 1}}},
    "checkpoints/ of an id": {"id": "0197c0de-0000-7000-8000-000000000001", "delta": {}},
    **{
        f"lease/release/ as {status}": {"as": status}
        for status in ("succeeded", "failed", "paused", "queued")
    },
    "lease/release/ as sleeping": {"as": "sleeping", "seconds": 5},
}


def expire(agent: Agent) -> None:
    """Let the lease end; its holder is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 hour' "
            "WHERE id = %s",
            (agent.thread,),
        )
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    agent.lease = ""


@pytest.fixture
def begun(agent: Agent) -> Agent:
    """An agent that is in the middle of an effect."""
    agent.start(tools={"charge": {}})
    agent.take()
    assert agent.begin("charge#0", args={"cents": 1})["do"] == "call"
    return agent


def is_intact(agent: Agent) -> bool:
    report = chain.verify_thread(UUID(agent.thread))
    assert report.intact, report
    return True


def test_whoever_takes_the_lease_next_stops_for_a_person(begun: Agent) -> None:
    expire(begun)
    begun.name = "host-2"
    refused = begun.call("POST", "lease/", {"name": begun.name, "seconds": 60})
    assert (refused.status, refused.code) == (409, "not-allowed-now")
    assert "Whether 'charge' happened is unknown" in refused.body["detail"]
    assert begun.get("")["status"] == "attention"
    assert begun.get("next/")["do"] == "wait"
    [effect] = queries.unsettled_effects(UUID(begun.thread))
    assert effect.state == "unknown"
    assert is_intact(begun)
    # A retry asks again; the answer is what lets it go on.
    assert begun.operate("retry/", {}).status == 200
    assert begun.call("POST", "lease/", {"name": begun.name, "seconds": 60}).status == 409
    result = {"id": "ch_1"}
    answer = {"activity": str(effect.id), "verdict": "happened", "result": result}
    settled = begun.operate("settle/", answer)
    assert settled.status == 200, settled
    begun.take()
    again = begun.begin("charge#0", args={"cents": 1})
    assert (again["do"], again["result"]) == ("answer", {"id": "ch_1"})
    begun.commit(1)
    assert begun.release()["status"] == "succeeded"
    assert is_intact(begun)


def test_a_take_under_a_key_leaves_the_thread_to_a_person_too(begun: Agent) -> None:
    expire(begun)
    body = {"name": "host-2", "seconds": 60}
    refused = begun.call("POST", "lease/", body, Idempotency_Key="take-1")
    assert refused.code == "not-allowed-now"
    assert begun.get("")["status"] == "attention"
    assert is_intact(begun)


@pytest.mark.parametrize("idempotent", [False, True])
def test_one_that_was_left_open_in_an_earlier_step_stops_it_too(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, idempotent: bool
) -> None:
    """Records of former versions, whose reports and releases passed it."""
    agent.start(tools={"charge": {"idempotent": idempotent}})
    agent.take()
    assert agent.begin("charge#0", args={"cents": 1})["do"] == "call"
    with monkeypatch.context() as former:
        former.setattr(reports, "refuse_unsettled", lambda *_: None)
        agent.commit(1)
        agent.commit(2)
    refused = agent.call("POST", "lease/release/", {"as": "succeeded"})
    assert "'charge' began and is not settled" in refused.body["detail"]
    expire(agent)
    agent.name = "host-2"
    refused = agent.call("POST", "lease/", {"name": agent.name, "seconds": 60})
    assert (refused.status, refused.code) == (409, "not-allowed-now")
    assert agent.get("")["status"] == "attention"
    effect = agent.get("")["waiting_on"]["activity"]
    answer = {"activity": effect, "verdict": "happened", "result": {"id": "ch_1"}}
    settled = agent.operate("settle/", answer)
    assert settled.status == 200, settled
    agent.take()
    agent.commit(3)
    assert agent.release()["status"] == "succeeded"
    assert is_intact(agent)


@pytest.mark.parametrize("report", BESIDE)
def test_no_report_passes_it(begun: Agent, report: str) -> None:
    path = report.partition(" ")[0]
    refused = begun.call("POST", path, BESIDE[report])
    assert (refused.status, refused.code) == (409, "not-allowed-now"), refused
    assert "'charge' began and is not settled" in refused.body["detail"]
    assert refused.body["effect"] == "charge"
    assert begun.get("")["status"] == "running"
    begun.settle("charge#0", result={"id": "ch_1"})
    assert begun.call("POST", path, BESIDE[report]).status in (200, 201)
    assert is_intact(begun)


def test_going_back_to_an_earlier_checkpoint_does_not_pass_it(agent: Agent) -> None:
    agent.start(tools={"charge": {}})
    agent.take()
    first = agent.commit(1)["checkpoint"]["parent"]
    agent.begin("charge#0", args={"cents": 1})
    back = {"parent": first, "delta": {"set": {"n": 1}}}
    assert agent.call("POST", "checkpoints/", back).code == "not-allowed-now"
    agent.settle("charge#0", state="failed", error="declined")
    assert agent.call("POST", "checkpoints/", back).status == 201


def test_a_checkpoint_that_was_committed_is_answered_beside_it(agent: Agent) -> None:
    agent.start(tools={"charge": {}})
    agent.take()
    ident = "0197c0de-0000-7000-8000-000000000002"
    agent.commit(1, id=ident)
    agent.begin("charge#0", args={"cents": 1})
    agent.commit(1, id=ident, status=200)


def test_a_commit_is_refused_where_an_effect_began_since_it_looked(
    agent: Agent, cast: Cast
) -> None:
    agent.start(tools={"charge": {}})
    agent.take()
    workspace = cast.actor("operator").workspace
    looked = leases.held(UUID(agent.thread), token=UUID(agent.lease), workspace=workspace)
    assert looked is not None
    agent.begin("charge#0", args={"cents": 1})
    report = committed.Report(id=None, step=1, nodes=(), next_nodes=(), delta={})
    with pytest.raises(LeaseLost):
        committed.commit(looked, None, report, seen=looked.last_seq)


def test_an_effect_that_can_be_repeated_is_begun_again(agent: Agent) -> None:
    agent.start(tools={"charge": {"idempotent": True}})
    agent.take()
    key = agent.begin("charge#0", args={"cents": 1})["idempotency_key"]
    expire(agent)
    agent.take()
    refused = agent.call("POST", "lease/release/", {"as": "succeeded"})
    assert refused.body["effect"] == "charge"
    again = agent.begin("charge#0", args={"cents": 1})
    assert (again["do"], again["idempotency_key"]) == ("call", key)
    agent.settle("charge#0", result={"id": "ch_1"})
    assert agent.release()["status"] == "succeeded"
