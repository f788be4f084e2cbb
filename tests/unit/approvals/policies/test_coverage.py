"""Each agent's tools with the policies that would hold them, and who could escape a policy."""

from __future__ import annotations

import re
from typing import Any

import pytest

from approvals.policies import changes as policies
from approvals.policies.conditions import literals
from approvals.policies.coverage import escapes_of, held_tools
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def made(cast: Cast, condition: str, name: str = "One", **more: Any) -> Any:
    return policies.make(cast.workspace, Draft(name, condition, **more), actor="user:9")


def announced(cast: Cast, name: str, *tools: str, watched: bool = False, **more: Any) -> Any:
    external = {"workspace": str(cast.workspace), "framework": "f", "can": [], "open": True}
    graph = scene.GRAPH | {"external": external | ({"watched": True} if watched else {})}
    return store.announce_version(
        agent=name,
        version=1,
        fingerprint=name.encode().hex().zfill(64),
        label=name,
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=graph,
        tools={tool: {"effect": True, "undo": more.get("undo", "")} for tool in tools},
        queue="elsewhere",
    )


def of(cast: Cast, name: str) -> dict[str, list[tuple[str, str]]]:
    """Tool -> (policy, when) of an agent."""
    agent = queries.agent(name, workspace=cast.workspace)
    return {
        one.tool: [(h.name, h.when) for h in one.holdings]
        for one in held_tools(agent, workspace=cast.workspace)
    }


@pytest.mark.requirement("E02")
def test_tools_are_listed_with_the_policies_that_would_hold_them(cast: Cast) -> None:
    announced(cast, "payments", "pay", "mail")
    made(cast, "tool == 'pay' && amount(args.total) > 9", "Large")
    made(cast, "has(args.iban) && tool == 'pay'", "Accounts")
    made(cast, "node == 'pay'", "A node")
    made(cast, "operation == 'fork'", "Forks")
    made(cast, "agent == 'other'", "Others")
    made(cast, "tool == 'mail' && undo == 'none'", "Mails")
    made(cast, "true", "All")
    depends = "depends on the call"
    assert of(cast, "payments") == {
        "pay": [("Large", depends), ("Accounts", depends), ("All", "always")],
        "mail": [("Mails", "always")],
    }
    client = cast.client("viewer")
    payload = client.get("/api/v1/agents/payments/").json()["held_tools"]
    assert [(one["tool"], one["escapes"]) for one in payload] == [("mail", ""), ("pay", "")]
    assert [h["name"] for h in payload[1]["holdings"]] == ["Large", "Accounts", "All"]
    row = queries.agent("payments", workspace=cast.workspace)
    address = f"/admin/checkpoints/agentversion/{row.id}/change/"
    page = cast.client("auditor").get(address, follow=True).content.decode()
    parts = ("What it is", "What holds its tools", "Details")
    assert re.findall(r"<h2>\s*(.*?)\s*</h2>", page) == list(parts)
    assert "Large (depends on the call), Accounts (depends on the call), All (always)" in page


def test_what_is_let_happen_first_is_not_held_by_a_later_policy(cast: Cast) -> None:
    announced(cast, "payments", "pay", "mail")
    made(cast, "tool == 'mail'", "Free", action="allow")
    made(cast, "true", "All")
    assert of(cast, "payments") == {"pay": [("All", "always")], "mail": []}


@pytest.mark.requirement("E02")
def test_tools_of_a_watched_agent_are_listed_as_held_by_none(cast: Cast) -> None:
    announced(cast, "spy", "pay", watched=True)
    row = made(cast, "tool == 'pay'")
    payload = cast.client("viewer").get("/api/v1/agents/spy/").json()["held_tools"]
    assert payload[0]["holdings"] == []
    assert "watched" in payload[0]["escapes"]
    (text,) = escapes_of(row)
    assert text.startswith("Agent 'spy' (pay): the agent is watched")
    page = cast.client("admin").get(f"/admin/policies/{row.policy}/").content.decode()
    assert "Who could bypass it" in page
    assert "the agent is watched" in page


def test_names_that_nobody_announces_are_named_on_the_page(cast: Cast) -> None:
    announced(cast, "payments", "pay")
    row = made(cast, "tool in ['pay', 'paay'] && agent == 'payments' || 'pai' == tool")
    assert [text.partition(". ")[0] for text in escapes_of(row)] == [
        "No agent announces the tool 'paay'",
        "No agent announces the tool 'pai'",
    ]
    page = cast.client("admin").get(f"/admin/policies/{row.policy}/").content.decode()
    assert "paay" in page.partition('id="escapes"')[2]
    fine = made(cast, "tool == 'pay'", "Fine")
    assert escapes_of(fine) == []
    assert (
        "Nobody: each name"
        in cast.client("admin").get(f"/admin/policies/{fine.policy}/").content.decode()
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tool == 'a'", {"tool": ["a"]}),
        ("'a' == tool && node != 'x'", {"tool": ["a"]}),
        ('agent == "b" || tool in ["c", "d"]', {"agent": ["b"], "tool": ["c", "d"]}),
        ("args.tool == 'a'", {}),
        ("tool.startsWith('a')", {}),
        ("node == 'n'", {"node": ["n"]}),
    ],
)
def test_names_in_a_condition(text: str, names: dict[str, list[str]]) -> None:
    assert literals(text) == names


def test_what_blocks_stands_first_and_ends_the_list_where_it_blocks_each_call(cast: Cast) -> None:
    announced(cast, "payments", "pay", "mail")
    made(cast, "tool == 'mail'", "Free", action="allow")
    made(cast, "tool == 'pay'", "Pays")
    made(cast, "tool == 'pay' && amount(args.total) > 9", "Large", action="block")
    made(cast, "tool == 'mail'", "Never", action="block")
    made(cast, "true", "All")
    assert of(cast, "payments") == {
        "pay": [("Large", "depends on the call"), ("Pays", "always")],
        "mail": [("Never", "always")],
    }
    payload = cast.client("viewer").get("/api/v1/agents/payments/").json()["held_tools"]
    assert [(one["tool"], [h["blocks"] for h in one["holdings"]]) for one in payload] == [
        ("mail", [True]),
        ("pay", [True, False]),
    ]
    agent = queries.agent("payments", workspace=cast.workspace)
    words = [one.words for one in held_tools(agent, workspace=cast.workspace)]
    assert words == [
        "Never (blocks, always)",
        "Large (blocks, depends on the call), Pays (always)",
    ]
