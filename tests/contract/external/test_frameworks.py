"""Requests and threads of all frameworks stand in one inbox and on one board."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.board.test_board_children import counted, listed

from .entry import Agent

pytestmark = pytest.mark.django_db
FRAMEWORKS = {"LangGraph": 3, "Pydantic AI": 2, 'an agent\'s "own" & <b>': 1, "": 1}
OURS = 2
GATE = {"title": "Charge the card", "risk": "medium"}


@pytest.fixture
def threads(agent: Agent, cast: Cast) -> dict[str, set[str]]:
    """{framework: its threads}, each of which waits for people; counted by who started them."""
    results: dict[str, set[str]] = defaultdict(set)
    for framework, count in FRAMEWORKS.items():
        for _ in range(count):
            other = Agent(agent.send, agent.people)
            other.start(framework=framework)
            other.take()
            assert other.begin("charge#0", args={"cents": 1}, gate=GATE)["do"] == "wait"
            results[framework].add(other.thread)
    ours = scene.make_agent()
    results["Gatepost"] = {str(scene.waiting(cast.workspace, ours).thread) for _ in range(OURS)}
    return results


def pages(send: Any, path: str) -> Iterator[Mapping[str, Any]]:
    """All rows of a list of the API, two at a time."""
    cursor = ""
    while True:
        answer = send("GET", f"{path}&limit=2{cursor}", None, {})
        assert answer.status == 200, answer
        yield from answer.body["results"]
        if not answer.body["next_cursor"]:
            return
        cursor = f"&cursor={quote(answer.body['next_cursor'])}"


def shown(html: str, what: str) -> set[str]:
    """The ids that a page links to."""
    return set(re.findall(rf'href="/{what}/([0-9a-f-]{{36}})/', html))


@pytest.mark.slow
def test_board_inbox_and_api_narrow_by_framework_alike(
    threads: dict[str, set[str]], agent: Agent, cast: Cast
) -> None:
    client = cast.client("manager")
    every = set().union(*threads.values())
    requests = {
        str(row["thread"]): str(row["id"]) for row in pages(agent.people, "/approvals/?box=open")
    }
    assert requests.keys() == every
    for framework, ids in threads.items():
        if not framework:
            continue
        word = quote(framework)
        rows = list(pages(agent.send, f"/threads/?framework={word}"))
        assert {row["id"] for row in rows} == ids
        rows = list(pages(agent.people, f"/approvals/?framework={word}"))
        assert {row["thread"] for row in rows} == ids
        board = client.get(f"/?framework={word}").content.decode()
        assert listed(board) == ids
        assert counted(board) == {"waiting": len(ids)}
        inbox = client.get(f"/approvals/?framework={word}").content.decode()
        assert shown(inbox, "approvals") & set(requests.values()) == {requests[i] for i in ids}
    assert listed(client.get("/?framework=none").content.decode()) == set()
    page = client.get("/approvals/?framework=none").content.decode()
    assert not shown(page, "approvals") & set(requests.values())


def test_a_framework_and_an_agent_narrow_together_and_stay_in_the_links(
    threads: dict[str, set[str]], agent: Agent, cast: Cast
) -> None:
    (row, *_) = pages(agent.send, "/threads/?framework=LangGraph")
    rows = list(pages(agent.send, f"/threads/?framework=LangGraph&agent={row['agent']}"))
    assert [one["id"] for one in rows] == [row["id"]]
    assert not list(pages(agent.send, f"/threads/?framework=Gatepost&agent={row['agent']}"))
    page = cast.client("manager").get("/approvals/?framework=LangGraph").content.decode()
    trail = re.findall(r'href="/approvals/[0-9a-f-]{36}/\?([^"]*)"', page)
    assert trail
    assert all("framework=LangGraph" in one for one in trail)
    options = re.search(r'<select id="framework".*?</select>', page, re.S)
    assert options is not None
    assert "Gatepost" in options[0]
    assert "&lt;b&gt;" in options[0]


def test_a_framework_that_no_address_can_name_is_refused(agent: Agent, cast: Cast) -> None:
    client = cast.client("manager")
    for path in ("/", "/approvals/"):
        assert client.get(f"{path}?framework={'x' * 201}").status_code == 422
        assert client.get(f"{path}?framework=%00").status_code == 422
    for path in ("/threads/", "/approvals/"):
        answer = agent.send("GET", f"{path}?framework=%00", None, {})
        assert (answer.status, answer.body["path"]) == (422, "framework")


@pytest.mark.parametrize(
    ("external", "can", "cannot"),
    [
        (
            {"framework": "LangGraph", "message_channel": "messages"},
            "decide what it asks, pause, resume, retry, send messages, edit, fork, roll back, "
            "cancel",
            "",
        ),
        (
            {"framework": "script", "can": ["edit"]},
            "decide what it asks, pause, resume, retry, edit, cancel",
            "send messages, fork, roll back",
        ),
    ],
)
def test_the_page_says_what_can_be_done_what_not_and_why(
    agent: Agent, cast: Cast, external: dict[str, Any], can: str, cannot: str
) -> None:
    agent.start(**external)
    page = cast.client("operator").get(f"/threads/{agent.thread}/").content.decode()
    (words,) = re.findall(r'<dd id="can">(.*?)</dd>', page, re.S)
    assert " ".join(words.split()) == can
    refused = re.search(r'<dd id="cannot">(.*?)</dd>', page, re.S)
    assert (refused is not None) == bool(cannot)
    if refused is not None:
        assert cannot in " ".join(refused[1].split())
        for why in ("accepts no new input", "continue from a fork", "continue from a rollback"):
            assert why in refused[1]


def test_requests_of_all_kinds_are_decided_by_the_same_act(
    threads: dict[str, set[str]], agent: Agent, cast: Cast
) -> None:
    """One bulk call over all frameworks: each request looks and acts as the others do."""
    rows = list(pages(agent.people, "/approvals/?box=open"))
    keys = {frozenset(row) for row in rows}
    assert len(keys) == 1
    items = [
        {"id": row["id"], "verdict": "approve", "proposal_hash": row["standing_hash"]}
        for row in rows
    ]
    answer = agent.people("POST", "/approvals/decide/", items, {})
    assert answer.status == 200, answer
    assert [one["status"] for one in answer.body["results"]] == [200] * len(items)
    assert len(items) == sum(map(len, threads.values()))
    assert not list(pages(agent.people, "/approvals/?box=open"))


def test_a_node_that_waits_stands_in_the_inbox_like_any_request(agent: Agent, cast: Cast) -> None:
    policies.make(cast.workspace, Draft("Look", "node == 'pay'"), actor="user:0")
    agent.start(framework="LangGraph", nodes=["look", "pay"])
    agent.take()
    agent.commit(1, nodes=["look"], next_nodes=["pay"], delta={})
    (row,) = pages(agent.people, "/approvals/?framework=LangGraph")
    page = cast.client("manager").get(f"/approvals/{row['id']}/")
    assert page.status_code == 200
    assert "Continue with the node" in page.content.decode()
    answer = agent.people(
        "POST",
        f"/approvals/{row['id']}/decide/",
        {"verdict": "approve", "proposal_hash": row["proposal_hash"]},
        {},
    )
    assert answer.status == 200, answer
