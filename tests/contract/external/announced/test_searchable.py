"""Channels that an agent elsewhere declares as searchable: found, followed, proved, refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.queries import InvalidQuery, Selection
from dashboard.board.filters.address import readable
from tests.support.cast import Cast

from ..entry import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A06")]


def finds(a: Agent, query: str) -> bool:
    """Look for the agent's thread by the API."""
    answer = a.send("GET", f"/threads/?q={quote(query)}", None, {})
    assert answer.status == 200, answer
    return a.thread in {row["id"] for row in answer.body["results"]}


def test_a_thread_is_found_by_what_its_agent_reports(agent: Agent) -> None:
    agent.start(input={"customer": "acme", "note": "x"}, searchable=["customer", "order"])
    assert finds(agent, "state.customer:acme")
    agent.take()
    ids = [str(uuid4()) for _ in range(3)]
    agent.commit(1, id=ids[0], delta={"set": {"customer": "initech", "order": {"id": 4711}}})
    assert finds(agent, "state.customer:initech state.order.id:4711")
    assert not finds(agent, "state.customer:acme")
    # A whole state in place of a delta, and then an earlier checkpoint goes on.
    agent.commit(2, id=ids[1], state={"customer": "acme", "note": "y"})
    assert finds(agent, "state.customer:acme -state.order.id:4711")
    branch = {"id": ids[2], "parent": ids[0], "delta": {"set": {"note": "z"}}}
    agent.post("checkpoints/", branch, status=201)
    assert finds(agent, "state.customer:initech state.order.id:4711")
    agent.commit(3, delta={"unset": ["order"]})
    assert not finds(agent, "state.order.id:4711")
    agent.release("paused")
    edited = agent.operate("edit/", {"changes": {"customer": "hooli"}, "reason": "its name"})
    assert edited.status == 200, edited
    assert finds(agent, "state.customer:hooli")
    assert verify(UUID(agent.thread)).intact


def test_it_is_announced_without_being_in_a_schema(agent: Agent, cast: Cast) -> None:
    first = agent.start(name="one", searchable=["customer"])
    again = agent.start(name="one", searchable=["customer"], status=200)
    assert again["id"] == first["id"]
    version = queries.agent(agent.agent, workspace=cast.workspace)
    assert version.channels == {"customer": {"reducer": "last_value", "searchable": True}}


@pytest.mark.parametrize(
    ("external", "path", "reason"),
    [
        ({"searchable": [f"c{n}" for n in range(9)]}, "$.external.searchable", "8"),
        ({"searchable": ["a b"]}, "$.external.searchable[0]", "a query could not name it"),
        (
            {"searchable": ["x", "log"], "channels": {"log": "append"}},
            "$.external.searchable[1]",
            "log grows",
        ),
        (
            {"searchable": ["messages"], "message_channel": "messages"},
            "$.external.searchable[0]",
            "messages grows",
        ),
        (
            {
                "searchable": ["custmer"],
                "schema": {"properties": {"customer": {}}, "additionalProperties": False},
            },
            "$.external.searchable[0]",
            "not a channel of the schema",
        ),
    ],
)
def test_a_channel_by_which_nothing_is_found_is_refused(
    agent: Agent, external: dict[str, Any], path: str, reason: str
) -> None:
    body = {"agent": agent.agent, "external": external}
    answer = agent.send("POST", "/threads/", body, {})
    assert answer.status == 422, answer
    assert answer.body["errors"][0]["path"] == path
    assert reason in answer.body["errors"][0]["message"]


@pytest.mark.parametrize(
    ("report", "path"),
    [
        ({"delta": {"append": {"tags": ["b"]}}}, "$.delta.append.tags"),
        ({"delta": {"merge": {"tags": {"b": 1}}}}, "$.delta.merge.tags"),
        ({"delta": {"set": {"tags": "x" * 1_000}}}, "$.delta.set.tags"),
        ({"state": {"tags": "x" * 1_000}}, "$.delta.set.tags"),
    ],
)
def test_a_report_that_could_not_be_followed_is_refused(
    agent: Agent, report: dict[str, Any], path: str
) -> None:
    agent.start(input={"tags": ["a"]}, searchable=["tags"])
    agent.take()
    answer = agent.call("POST", "checkpoints/", {"step": 1, **report})
    assert answer.status == 422, answer
    assert answer.body["errors"][0]["path"] == path
    assert "is searchable" in answer.body["errors"][0]["message"]
    agent.commit(1, state={"tags": ["a", "b"]})
    assert finds(agent, "state.tags:b")
    assert verify(UUID(agent.thread)).intact


def test_its_channels_are_known_in_its_workspace_alone(agent: Agent, cast: Cast) -> None:
    agent.start(searchable=["customer"])
    query = "state.custmer:acme"
    with pytest.raises(InvalidQuery, match="Did you mean “state"):
        queries.threads(Selection(q=query), workspace=cast.workspace)
    with pytest.raises(InvalidQuery) as refused:
        queries.threads(Selection(q=query), workspace=cast.elsewhere)
    assert "customer" not in refused.value.explanation
    address = "q=state.customer%3Aacme"
    assert readable(address, cast.workspace)[1] == ""
    assert "no searchable channel" in readable(address, cast.elsewhere)[1]
    assert cast.client("operator").get(f"/?{address}").status_code == 200
