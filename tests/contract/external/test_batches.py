"""Records come in one go: of a batch with a wrong one nothing is kept, and its place is named."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries
from tests.support.cast import Cast

from .entry import Agent

pytestmark = pytest.mark.django_db
GOOD: dict[str, Any] = {"node": "work", "kind": "activity", "tool": "read", "result": 1}
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
# {what is wrong: (what differs from a good record, the status, where it is said)}
WRONG: dict[str, tuple[dict[str, Any], int, str]] = {
    "a kind": ({"kind": "effect"}, 400, "$.records[1].kind"),
    "a node": ({"kind": "node"}, 400, "$.records[1].kind"),
    "a field": ({"more": 1}, 400, "$.records[1].more"),
    "a number": ({"index": -1}, 400, "$.records[1].index"),
    "a call without a name": ({"tool": ""}, 422, "$.records[1].tool"),
    "a tool that is not announced": ({"tool": "look"}, 422, "$.records[1].tool"),
    "a credential": ({"result": {"key": SECRET}}, 422, "$.records[1].result.key"),
    "a tool of a policy": ({"tool": "charge"}, 409, "records[1]"),
    "a value of a tool of a policy": ({"kind": "value", "tool": "charge"}, 409, "records[1]"),
}


@pytest.fixture
def reporting(agent: Agent, cast: Cast) -> Agent:
    policies.make(cast.workspace, Draft("Charges", "tool == 'charge'"), actor="user:0")
    agent.start(tools={"read": {"effect": False}, "charge": {}})
    agent.take()
    return agent


@pytest.mark.parametrize("wrong", WRONG)
def test_of_a_batch_with_a_wrong_record_nothing_is_kept(reporting: Agent, wrong: str) -> None:
    differs, status, where = WRONG[wrong]
    good = [{**GOOD, "key": f"read#{n}"} for n in range(3)]
    batch = [good[0], {**good[1], **differs}, good[2]]
    answer = reporting.call("POST", "activities/record/", {"records": batch})
    assert answer.status in (status, 422), answer
    assert where in str(answer.body), answer
    assert queries.activities(UUID(reporting.thread)) == []
    # Nothing is lost: the same batch without it is kept, also a second time.
    for _ in range(2):
        reporting.post("activities/record/", {"records": [good[0], good[2]]})
        rows = queries.activities(UUID(reporting.thread))
        assert sorted(row.key for row in rows) == ["read#0", "read#2"]


def test_an_effect_is_not_written_over_by_a_batch(reporting: Agent) -> None:
    reporting.start(tools={"pay": {}})
    reporting.take()
    reporting.begin("pay#0", tool="pay")
    batch = [{**GOOD, "kind": "value", "tool": "", "key": key} for key in ("a", "pay#0")]
    answer = reporting.call("POST", "activities/record/", {"records": batch})
    assert (answer.code, "records[1]" in str(answer.body)) == ("not-allowed-now", True)
    assert [row.key for row in queries.activities(UUID(reporting.thread))] == ["pay#0"]


@pytest.mark.parametrize("kind", ["activity", "value"])
def test_the_usage_of_each_kind_is_on_record(reporting: Agent, kind: str) -> None:
    used = {"tokens": 7, "cost": "0.000100"}
    one = {**GOOD, "kind": kind, "key": "read#0", "usage": used}
    reporting.post("activities/record/", {"records": [one]})
    (row,) = queries.activities(UUID(reporting.thread))
    assert row.usage is not None
    assert row.usage["tokens"] == 7
    events = queries.events_after(UUID(reporting.thread), 0)
    (recorded,) = [event for event in events if event.data.get("key") == "read#0"]
    assert recorded.data["usage"]["tokens"] == 7
