"""The OpenAI Agents SDK under control: sealed run states, approvals per call, calls made once."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints.queries import default_workspace
from dashboard.identity import tokens
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
PAGE = (ROOT / "docs/howto/openai-agents.md").read_text()
Start = Callable[..., Script]


@pytest.fixture
def start(script: Callable[..., Script], tmp_path: Path) -> Start:
    """Starts a script in the environment of the SDK."""
    interpreter = environments.python("openai-agents", HERE / "requirements.lock")
    (tmp_path / "world").mkdir()
    page = re.search(r"^```python\n(# refunds.py\n.*?)^```", PAGE, re.M | re.S)
    assert page is not None
    code = page[1].replace("tools=[", "model=scripted.model, tools=[")
    (tmp_path / "refunds.py").write_text("import scripted\n" + code)
    path = ":".join(map(str, [SOURCES, HERE, HERE.parent / "world"]))

    def made(path_of: Path, *args: str, **more: str) -> Script:
        world = {"OUTSIDE": str(tmp_path / "world"), "PYTHONPATH": path}
        return script(str(interpreter), "-W", "error", str(path_of), *args, **world, **more)

    return made


def test_the_agent_of_the_page_waits_without_a_process_and_pays_what_was_approved(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world, page = tmp_path / "world", tmp_path / "refunds.py"
    assert "refund?" in start(page, "A1", GATEPOST_WAIT="0").end(75)
    assert len(lines(world / "model")) == 2
    thread = server.wait_thread("order-refunds", "refund-A1")
    assert server.decide(thread)["tool"] == "refund"
    assert "Done: receipt for 2000" in start(page, "A1").end()
    assert lines(world / "paid") == ["A1 2000"]
    assert lines(world / "looked") == ["A1"]
    assert len(lines(world / "model")) == 3  # the first two answered from the record
    assert "Done: receipt for 2000" in start(page, "A1").end()  # a finished thread only answers
    assert len(lines(world / "model")) == 3
    records = server.operator.get(f"/threads/{thread}/activities/?limit=50")["results"]
    kinds = sorted((one["kind"], one["state"]) for one in records)
    assert kinds == [("activity", "done"), ("effect", "done"), *[("model", "done")] * 3]
    assert server.verify(thread)["intact"]


@pytest.mark.browser
@pytest.mark.interop("OpenAI Agents")
def test_an_edit_is_a_rejection_with_a_message_and_the_new_call_is_asked_about(
    server: Server, editor: Editor, start: Start, tmp_path: Path
) -> None:
    world, page = tmp_path / "world", tmp_path / "refunds.py"
    start(page, "edit", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("order-refunds", "refund-edit")
    request = server.wait_request(thread)
    editor.edit(request, {"order": "A1", "cents": 500}, "half is fair")
    start(page, "edit", GATEPOST_WAIT="0").end(75)
    row = server.wait_request(thread)
    assert row["args"] == {"order": "A1", "cents": 500}
    assert not lines(world / "paid")
    server.decide(thread)
    assert "Done: receipt for 500" in start(page, "edit").end()
    assert lines(world / "paid") == ["A1 500"]
    assert len(lines(world / "model")) == 4
    assert server.verify(thread)["intact"]


@pytest.mark.interop("OpenAI Agents")
def test_three_changed_lines_put_an_agent_under_control() -> None:
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE, re.M | re.S)
    changed = [line for line in diff.splitlines() if line.startswith(("+", "-"))]
    assert len([line for line in changed if line.startswith("+")]) <= 3
    assert len([line for line in changed if line.startswith("-")]) <= 1


@pytest.mark.interop("OpenAI Agents")
@pytest.mark.parametrize(
    ("point", "model_calls", "looked"),
    [("looking", 3, 2), ("gate", 3, 1), ("last model call", 4, 1)],
)
def test_killed_anywhere_it_goes_on_elsewhere_and_pays_once(
    server: Server, start: Start, tmp_path: Path, point: str, model_calls: int, looked: int
) -> None:
    world, page, order = tmp_path / "world", tmp_path / "refunds.py", point.replace(" ", "-")
    first = start(page, order, HOLD=point)
    thread = server.wait_thread("order-refunds", f"refund-{order}")
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


@pytest.mark.parametrize("killed", [False, True])
def test_interruptions_are_asked_at_once_and_decided_one_by_one(
    server: Server, start: Start, tmp_path: Path, killed: bool
) -> None:
    world, name = tmp_path / "world", f"two-{killed}"
    first = start(HERE / "cases.py", name)
    thread = server.wait_thread("openai-cases", name)
    server.wait(lambda: len(server.requests(thread)) == 2)
    if killed:
        first.signal(signal.SIGKILL)
    verdicts = {
        "Transfer 100 to ada?": {"verdict": "approve"},
        "Transfer 200 to bob?": {"verdict": "reject", "comment": "not bob"},
    }
    for row in server.requests(thread):
        body = {"proposal_hash": row["proposal_hash"], **verdicts[row["title"]]}
        server.manager.post(f"/approvals/{row['id']}/decide/", body)
    if killed:
        first.is_over = True
        first = start(HERE / "cases.py", name)
    assert payload(first.end()) == ["receipt for 100", "Rejected: not bob"]
    assert lines(world / "paid") == ["ada 100"]
    assert len(lines(world / "model")) == 2


@pytest.mark.requirement("E02")
def test_a_tool_that_is_made_late_is_announced_by_name(
    server: Server, start: Start, tmp_path: Path
) -> None:
    start(HERE / "cases.py", "late-1", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("openai-cases", "late-1")
    assert server.decide(thread)["tool"] == "hand_out"
    assert payload(start(HERE / "cases.py", "late-1").end()) == ["receipt for 5"]
    assert lines(tmp_path / "world" / "paid") == ["ada 5"]


@pytest.mark.requirement("E02")
def test_a_tool_that_a_policy_blocks_is_not_called_and_nobody_is_asked(
    server: Server, start: Start, tmp_path: Path
) -> None:
    workspace = default_workspace()
    draft = Draft("Never hand out", "tool == 'hand_out' && agent == 'openai-cases'", action="block")
    made = policies.make(workspace, draft, actor="user:0")
    try:
        result = payload(start(HERE / "cases.py", "late-2", GATEPOST_WAIT="0").end())
    finally:
        policies.switch(made.policy, False, workspace=workspace, actor="user:0")
    assert "The policy “Never hand out” blocks it." in result[0]
    assert lines(tmp_path / "world" / "paid") == []
    thread = server.wait_thread("openai-cases", "late-2")
    assert server.requests(thread) == []
    assert server.verify(thread)["intact"]


def test_a_session_goes_on_in_another_process_with_the_same_conversation(
    server: Server, start: Start, tmp_path: Path
) -> None:
    world = tmp_path / "world"
    start(HERE / "cases.py", "talk-1", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("openai-cases", "talk-1")
    server.decide(thread, "respond", args="yes")
    assert payload(start(HERE / "cases.py", "talk-1").end()) == [1, 3]
    inputs = [json.loads(line) for line in lines(world / "model")]
    assert [one.get("content") for one in inputs[1] if one.get("role") == "user"] == ["One", "Two"]
    assert len(inputs) == 2


def test_a_hand_over_is_a_thought(server: Server, start: Start, tmp_path: Path) -> None:
    assert payload(start(HERE / "cases.py", "hand-1").end())
    thread = server.wait_thread("openai-cases", "hand-1")
    events = server.operator.get(f"/threads/{thread}/events/?limit=100")["results"]
    thoughts = [one["data"]["text"] for one in events if one["kind"] == "thought.recorded"]
    assert thoughts == ["first hands over to second."]


def _write_event(thread: str, data: str) -> str:
    """Put other content into a thread's newest checkpoint event; gives what stood there."""
    at = "WHERE thread_id = %s AND kind = 'checkpoint.committed' ORDER BY seq DESC LIMIT 1"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"SELECT seq, data::text FROM gp_event {at}", (thread,))
        seq, before = cursor.fetchone()
        values = (data, thread, seq)
        cursor.execute("UPDATE gp_event SET data = %s WHERE thread_id = %s AND seq = %s", values)
    return str(before)


def test_a_run_state_is_not_restored_from_an_altered_record(
    server: Server, start: Start, tmp_path: Path
) -> None:
    page = tmp_path / "refunds.py"
    start(page, "altered", GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("order-refunds", "refund-altered")
    server.decide(thread)
    before = _write_event(thread, '{"altered": true}')
    assert "record is not intact" in start(page, "altered").end(1)
    _write_event(thread, before)
    assert not lines(tmp_path / "world" / "paid")
    server.operator.post(f"/threads/{thread}/retry/", {})
    assert "Done: receipt for 2000" in start(page, "altered").end()


@pytest.fixture
def memory_token(server: Server) -> str:
    """A token that may read and write memory."""
    user = get_user_model().objects.get(username="operator")
    return tokens.make(user, made_by="user:0", scopes=["read", "memory"])[1]


@pytest.mark.requirement("A10")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_session_in_memory_answers_as_the_one_of_the_sdk(
    server: Server, start: Start, memory_token: str, seed: int
) -> None:
    calls = payload(start(HERE / "sessions.py", str(seed), GATEPOST_TOKEN=memory_token).end())
    assert calls.keys() == {"add", "pop", "clear"}
    assert sum(calls.values()) == 40


@pytest.mark.requirement("A10")
def test_the_conversation_of_the_page_goes_on_in_another_process(
    server: Server, start: Start, tmp_path: Path, memory_token: str
) -> None:
    (code,) = re.findall(r'^```python title="support.py"\n(.*?)^```', PAGE, re.M | re.S)
    scripted = code.replace('Agent(name="Support",', 'Agent(name="Support", model=Counting(),')
    assert scripted != code
    (tmp_path / "support.py").write_text("from counting import Counting\n" + scripted)
    answers = [
        start(tmp_path / "support.py", customer, "When?", GATEPOST_TOKEN=memory_token).end()
        for customer in ("7", "7", "8")
    ]
    # Each answer is the number of items that the model was asked with.
    assert [one.split()[-1] for one in answers] == ["1", "3", "1"]
