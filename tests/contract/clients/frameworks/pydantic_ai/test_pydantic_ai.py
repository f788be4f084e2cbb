"""Pydantic AI under control: killed anywhere, edited in the inbox, gone on elsewhere, once."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from approvals.policies import changes as policies
from approvals.policies import node_policies
from approvals.policies.drafts import Draft
from checkpoints.queries import default_workspace
from tests.contract.clients.bench import (
    LEASE_SECONDS,
    ROOT,
    SOURCES,
    Script,
    Server,
    lines,
    pause,
    payload,
    wait_file,
)
from tests.contract.clients.editing import Editor
from tools import environments

pytestmark = pytest.mark.nightly  # each test starts processes
HERE = Path(__file__).parent
PAGE = (ROOT / "docs/howto/pydantic-ai.md").read_text()
Start = Callable[..., Script]


@pytest.fixture
def start(script: Callable[..., Script], tmp_path: Path) -> Start:
    """Starts a script in the environment of Pydantic AI."""
    interpreter = environments.python("pydantic-ai", HERE / "requirements.lock")
    (tmp_path / "world").mkdir()
    code, keyed = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    code = "import scripted\n" + code.replace('"openai:gpt-5"', "scripted.model")
    (tmp_path / "refunds.py").write_text(code)
    imported, tool = keyed.split("\n\n\n")
    unkeyed = re.search(r"^@agent.tool_plain\(requires_approval=True\)\n.*?\n\n", code, re.M | re.S)
    assert unkeyed is not None
    (tmp_path / "keyed.py").write_text(f"{imported}\n{code.replace(unkeyed[0], tool)}")
    path = ":".join(map(str, [SOURCES, HERE, HERE.parent / "world"]))

    def made(path_of: Path, *args: str, **more: str) -> Script:
        world = {"OUTSIDE": str(tmp_path / "world"), "PYTHONPATH": path}
        return script(str(interpreter), "-W", "error", str(path_of), *args, **world, **more)

    return made


@pytest.mark.browser
@pytest.mark.interop("Pydantic AI")
def test_the_agent_of_the_page_waits_without_a_process_and_does_what_was_edited(
    server: Server, editor: Editor, start: Start, tmp_path: Path
) -> None:
    world, page = tmp_path / "world", tmp_path / "refunds.py"
    assert "refund?" in start(page, "A1", GATEPOST_WAIT="0").end(75)
    assert len(lines(world / "model")) == 2
    thread = server.wait_thread("refunds", "refund-A1")
    row = server.wait_request(thread)
    assert row["tool"] == "refund"
    editor.edit(row, {"order": "A1", "cents": 500}, "half is fair")
    assert "Done: receipt for 500" in start(page, "A1").end()
    assert lines(world / "paid") == ["A1 500"]
    assert lines(world / "looked") == ["A1"]
    assert len(lines(world / "model")) == 3  # the first two answered from the record
    assert "Done: receipt for 500" in start(page, "A1").end()  # a finished thread only answers
    assert len(lines(world / "model")) == 3
    records = server.operator.get(f"/threads/{thread}/activities/?limit=50")["results"]
    kinds = sorted((one["kind"], one["state"]) for one in records)
    assert kinds == [("activity", "done"), ("effect", "done"), *[("model", "done")] * 3]
    assert all(one["usage"]["tokens"] > 0 for one in records if one["kind"] == "model")
    assert server.verify(thread)["intact"]


@pytest.mark.interop("Pydantic AI")
def test_three_changed_lines_put_an_agent_under_control() -> None:
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE, re.M | re.S)
    changed = [line for line in diff.splitlines() if line.startswith(("+", "-"))]
    assert len([line for line in changed if line.startswith("+")]) <= 3
    assert len([line for line in changed if line.startswith("-")]) <= 1


@pytest.mark.interop("Pydantic AI")
@pytest.mark.parametrize(
    ("point", "model_calls", "looked"),
    [("looking", 3, 2), ("gate", 3, 1), ("last model call", 4, 1)],
)
def test_killed_anywhere_it_goes_on_elsewhere_and_pays_once(
    server: Server, start: Start, tmp_path: Path, point: str, model_calls: int, looked: int
) -> None:
    world, page, order = tmp_path / "world", tmp_path / "refunds.py", point.replace(" ", "-")
    first = start(page, order, HOLD=point)
    thread = server.wait_thread("refunds", f"refund-{order}")
    if point != "looking":
        server.wait_request(thread)
    if point == "last model call":
        server.decide(thread)
    if point != "gate":
        wait_file(world / f"at-{point}")
    first.kill()
    if point == "gate":
        server.decide(thread)  # while no process is there
    pause(LEASE_SECONDS)
    second = start(page, order)
    if point == "looking":
        server.decide(thread)
    assert "Done: receipt for 2000" in second.end()
    assert lines(world / "paid") == ["A1 2000"]
    assert len(lines(world / "model")) == model_calls
    assert len(lines(world / "looked")) == looked
    assert server.verify(thread)["intact"]


def test_a_kill_while_paying_asks_a_person_what_happened(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world, page = tmp_path / "world", tmp_path / "refunds.py"
    first = start(page, "open", HOLD="after paying")
    thread = server.wait_thread("refunds", "refund-open")
    server.decide(thread)
    wait_file(world / "at-after paying")
    first.kill()
    pause(LEASE_SECONDS)
    second = start(page, "open")
    server.wait_status(thread, "attention")
    records = server.operator.get(f"/threads/{thread}/activities/?limit=50")["results"]
    (effect,) = [one for one in records if one["kind"] == "effect"]
    body = {
        "activity": effect["id"],
        "verdict": "happened",
        "result": "receipt for 2000",
        "reason": "the bank shows it",
    }
    server.operator.post(f"/threads/{thread}/settle/", body)
    assert "Done: receipt for 2000" in second.end()
    assert lines(world / "paid") == ["A1 2000"]


def test_with_a_key_it_is_called_again_and_acts_once(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world, page = tmp_path / "world", tmp_path / "keyed.py"
    first = start(page, "keyed", HOLD="after paying")
    thread = server.wait_thread("refunds", "refund-keyed")
    server.decide(thread)
    wait_file(world / "at-after paying")
    first.kill()
    pause(LEASE_SECONDS)
    assert "Done: receipt for 2000" in start(page, "keyed").end()
    assert lines(world / "paid") == ["A1 2000"]
    assert len(lines(world / "called")) == 2
    assert len(set(lines(world / "called"))) == 1


def _decide(server: Server, thread: str, how: dict[str, dict[str, Any]]) -> None:
    for row in server.requests(thread):
        body = how[row["title"]]
        server.manager.post(
            f"/approvals/{row['id']}/decide/", {"proposal_hash": row["proposal_hash"], **body}
        )


@pytest.mark.parametrize("killed", [False, True])
def test_approvals_and_questions_are_asked_at_once_and_answered_one_by_one(
    server: Server, start: Start, tmp_path: Path, killed: bool
) -> None:
    world, name = tmp_path / "world", f"two-{killed}"
    first = start(HERE / "cases.py", name)
    thread = server.wait_thread("pydantic-cases", name)
    server.wait(lambda: len(server.requests(thread)) == 3)
    assert {row["title"] for row in server.requests(thread)} == {
        "Transfer 100 to ada?",
        "Transfer 200 to bob?",
        "Which colour?",
    }
    if killed:
        first.signal(signal.SIGKILL)
    how: dict[str, dict[str, Any]] = {
        "Transfer 100 to ada?": {"verdict": "edit", "args": {"to": "ada", "cents": 50}},
        "Transfer 200 to bob?": {"verdict": "reject", "comment": "not bob"},
        "Which colour?": {"verdict": "respond", "args": "red"},
    }
    _decide(server, thread, how)
    if killed:
        first.is_over = True
        first = start(HERE / "cases.py", name)
    assert payload(first.end()) == {"a": "receipt for 50", "b": "not bob", "c": "red"}
    assert lines(world / "paid") == ["ada 50"]
    assert len(lines(world / "model")) == 2
    by = json.loads(lines(world / "by")[-1])
    assert sorted(by) == ["a", "b", "c"]
    assert all(who.startswith("manager") for who in by.values())


def test_request_input_waits_in_the_inbox_and_hands_out_its_token_once(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world = tmp_path / "world"
    start(HERE / "cases.py", "in-1", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("pydantic-cases", "in-1")
    row = server.wait_request(thread)
    assert row["deadline"] is not None
    start(HERE / "cases.py", "in-1", GATEPOST_WAIT="0").end(75)
    server.decide(thread, "edit", args={"to": "ada", "cents": 70})
    assert payload(start(HERE / "cases.py", "in-1").end()) == {"a": "receipt for 70"}
    assert lines(world / "told") == [f"{thread}/transfers.ask"]
    assert lines(world / "paid") == ["ada 70"]
    assert len(lines(world / "model")) == 2


@pytest.fixture(params=["ask"])
def held(server: Server, request: pytest.FixtureRequest) -> Iterator[None]:
    """Nobody plans without a person, or at all, while the test lasts."""
    workspace = default_workspace()
    condition = "tool == 'plan' && agent == 'pydantic-cases'"
    draft = Draft(request.node.name, condition, action=request.param)
    made = policies.make(workspace, draft, actor="user:0")
    pause(node_policies.SECONDS + 0.1)  # the web server has looked shortly before
    yield
    policies.switch(made.policy, False, workspace=workspace, actor="user:0")


@pytest.mark.requirement("E02")
@pytest.mark.usefixtures("held")
def test_a_held_plain_tool_is_called_with_what_the_reviewer_changed_and_checked_like_a_new_call(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world = tmp_path / "world"
    start(HERE / "cases.py", "held-1", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("pydantic-cases", "held-1")
    server.decide(thread, "edit", args={"what": "swim", "day": "2027-03-04"})
    assert payload(start(HERE / "cases.py", "held-1").end()) == {"d": "swim is planned"}
    assert lines(world / "planned") == ["swim 04.03.2027"]
    assert lines(world / "checked")[-1] == "swim 04.03.2027"
    assert payload(start(HERE / "cases.py", "held-1").end()) == {"d": "swim is planned"}
    assert lines(world / "planned") == ["swim 04.03.2027"]
    records = server.operator.get(f"/threads/{thread}/activities/?limit=50")["results"]
    (made,) = [one for one in records if one["tool"] == "plan"]
    assert (made["state"], made["args"]) == ("done", {"what": "swim", "day": "2027-03-04"})
    assert server.verify(thread)["intact"]


@pytest.mark.usefixtures("held")
def test_a_held_plain_tool_that_is_refused_is_not_called(
    server: Server, start: Start, tmp_path: Path
) -> None:
    start(HERE / "cases.py", "held-2", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("pydantic-cases", "held-2")
    server.decide(thread, "reject", comment="not now")
    assert payload(start(HERE / "cases.py", "held-2").end()) == {"d": "not now"}
    assert lines(tmp_path / "world" / "planned") == []


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("held", ["block"], indirect=True)
@pytest.mark.usefixtures("held")
def test_a_plain_tool_that_a_policy_blocks_is_not_called_and_nobody_is_asked(
    server: Server, start: Start, tmp_path: Path
) -> None:
    result = payload(start(HERE / "cases.py", "held-3", GATEPOST_WAIT="0").end())
    assert "blocks it." in result["d"]
    assert lines(tmp_path / "world" / "planned") == []
    thread = server.wait_thread("pydantic-cases", "held-3")
    assert server.requests(thread) == []
    assert server.verify(thread)["intact"]
