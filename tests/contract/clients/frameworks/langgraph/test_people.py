"""Interrupts of LangGraph open requests, each is answered by its own id, and graphs go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints.queries import default_workspace
from tests.contract.clients.bench import Script, Server, lines, payload

pytestmark = pytest.mark.nightly  # each test starts processes


def decide(server: Server, row: dict[str, Any], verdict: str, **more: Any) -> None:
    """Decide one request."""
    body = {"verdict": verdict, "proposal_hash": row["proposal_hash"], **more}
    server.manager.post(f"/approvals/{row['id']}/decide/", body)


def wait_requests(server: Server, thread: str, *titles: str) -> dict[str, dict[str, Any]]:
    """The open requests of a thread by title, as soon as they are these."""

    def read() -> dict[str, dict[str, Any]]:
        return {row["title"]: row for row in server.requests(thread)}

    server.wait(lambda: set(read()) == set(titles))
    return read()


def test_each_form_is_answered_as_the_graph_expects_it(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    def ask(case: str, name: str) -> Script:
        return langgraph("people.py", case, name, folder=name)

    first = ask("inbox", "inbox-edited")
    thread = server.wait_thread("people", "inbox-edited")
    server.decide(thread, "edit", args={"amount": 4})
    assert payload(first.end()) == [
        [{"type": "edit", "args": {"action": "pay", "args": {"amount": 4}}}]
    ]
    assert server.wait_status(thread, "succeeded")
    second = ask("question", "colour")
    colour = server.wait_thread("people", "colour")
    for value in ({"answer": "red"}, ["red"]):
        with pytest.raises(AssertionError, match="is not of type 'string'"):
            server.decide(colour, "respond", args=value)
    server.decide(colour, "respond", args="red")
    assert payload(second.end()) == ["red"]
    third = ask("form", "number")
    server.decide(server.wait_thread("people", "number"), "respond", args=7)
    assert payload(third.end()) == [7]


def test_an_invalid_answer_is_asked_again_and_the_valid_one_beside_it_is_not(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    script = langgraph("people.py", "invalid", "even")
    thread = server.wait_thread("people", "even")
    rows = wait_requests(server, thread, "An even number?", "Any?")
    decide(server, rows["An even number?"], "respond", args=3)
    decide(server, rows["Any?"], "respond", args=5)
    again = server.wait_request(thread)
    assert again["title"] == "An even number?"
    assert "an even number, please" in str(server.manager.get(f"/approvals/{again['id']}/"))
    decide(server, again, "respond", args=4)
    assert sorted(payload(script.end())) == [4, 5]


def test_parallel_and_nested_interrupts_are_answered_each_by_its_own(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    script = langgraph("people.py", "parallel", "parallel")
    thread = server.wait_thread("people", "parallel")
    rows = wait_requests(server, thread, "Left?", "Right?")
    decide(server, rows["Right?"], "respond", args="r")
    decide(server, rows["Left?"], "respond", args="l")
    decide(server, wait_requests(server, thread, "Really?")["Really?"], "respond", args="yes")
    assert payload(script.end()) == [["left", "l"], ["right", "r", "yes"]]

    script = langgraph("people.py", "nested", "nested", GATEPOST_WAIT="0")
    script.end(75)
    thread = server.wait_thread("people", "nested")
    rows = wait_requests(server, thread, "Inner?", "Beside?")
    decide(server, rows["Inner?"], "respond", args="i")
    decide(server, rows["Beside?"], "respond", args="b")
    # Another process, whose memory holds nothing of it.
    script = langgraph("people.py", "nested", "nested", folder="other")
    assert payload(script.end()) == [["beside", "b"], "prepared", ["inner", "i"]]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_tool_calls_of_an_agent_wait_for_people_and_happen_as_decided(
    server: Server, langgraph: Callable[..., Script], tmp_path: Path, mode: str
) -> None:
    outside = tmp_path / mode
    script = langgraph("people.py", mode, str(outside), GATEPOST_WAIT="0", folder="one")
    script.end(75)
    thread = server.wait_thread("people", mode)
    rows = {row["args"]["to"]: row for row in server.requests(thread)}
    assert set(rows) == {"ada", "bob", "cy"}
    decide(server, rows["ada"], "approve")
    decide(server, rows["bob"], "edit", args={"to": "bob", "amount": 20})
    decide(server, rows["cy"], "reject", comment="not him")
    script = langgraph("people.py", mode, str(outside), "resumed", folder="two")
    result = payload(script.end())
    assert sorted(lines(outside.with_suffix(".paid"))) == ["ada 1", "bob 20"]
    assert result["last"] == "done"
    assert "not him" in str(result["tools"]), result
    assert server.verify(thread)["intact"] is True


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_tool_call_that_a_policy_blocks_is_not_asked_and_the_others_are(
    server: Server, langgraph: Callable[..., Script], tmp_path: Path, mode: str
) -> None:
    workspace, outside = default_workspace(), tmp_path / f"{mode}-blocked"
    draft = Draft(f"Never {mode}", "tool == 'pay' && args.to == 'cy'", action="block")
    made = policies.make(workspace, draft, actor="user:0")
    try:
        langgraph("people.py", mode, str(outside), GATEPOST_WAIT="0", folder="one").end(75)
        thread = server.wait_thread("people", outside.name)
        rows = {row["args"]["to"]: row for row in server.requests(thread)}
        assert set(rows) == {"ada", "bob"}
        for row in rows.values():
            decide(server, row, "approve")
        script = langgraph("people.py", mode, str(outside), "resumed", folder="two")
        result = payload(script.end())
    finally:
        policies.switch(made.policy, False, workspace=workspace, actor="user:0")
    assert sorted(lines(outside.with_suffix(".paid"))) == ["ada 1", "bob 2"]
    assert f"The policy “Never {mode}” blocks it." in str(result["tools"]), result
    assert server.verify(thread)["intact"] is True


def test_serve_takes_threads_that_people_started_and_those_that_were_decided(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    external = {"framework": "langgraph"}
    body = {"agent": "served", "name": "from-the-page", "input": {}, "external": external}
    thread = server.operator.post("/threads/", body)["id"]
    langgraph("people.py", "serve", "x").end()
    server.decide(thread, "approve")
    server.wait_status(thread, "queued")
    langgraph("people.py", "serve", "x", folder="other").end()
    assert server.wait_status(thread, "succeeded")
    assert server.state(thread)["answers"] == [[{"type": "accept", "args": None}]]
