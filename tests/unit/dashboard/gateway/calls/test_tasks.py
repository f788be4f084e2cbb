"""Tasks of MCP: each method on a task at every point of its life, and by every wrong message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpoints import chain
from checkpoints.states import Status
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import Gate, gate, last, text_of
from tests.unit.dashboard.gateway.servers import set_mcp_tool_mode

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]
MAIL = {"to": "ada@example.org", "text": "hello"}
SENT = ["mail to ada@example.org: hello"]
SHOWN = {"resultType", "taskId", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "status"}


def _held(at: Gate, tool: str = "send_mail", args: dict[str, Any] = MAIL) -> str:
    """A task that waits for people."""
    created = at.call(tool, args, tasks=True)
    assert created.keys() >= SHOWN
    assert (created["status"], created["ttlMs"]) == ("working", None)
    return str(created["taskId"])


def _ended(at: Gate, task: str) -> Any:
    """The task once it works no more."""
    wait_until(lambda: at.task(task)["status"] != "working", seconds=20, what="the task")
    return at.task(task)


def _update(at: Gate, task: str) -> None:
    """The agent's own user says yes, which nobody asked."""
    answers = {"inputResponses": {"x": {"action": "accept", "content": {"approve": True}}}}
    result = at.result("tasks/update", {"taskId": task, **answers}, tasks=True)
    assert result == {"resultType": "complete"}


def _cancel(at: Gate, task: str) -> None:
    result = at.result("tasks/cancel", {"taskId": task}, tasks=True)
    assert result == {"resultType": "complete"}


def test_only_a_decision_of_people_moves_a_task(gateway: Gate) -> None:
    gateway.policy()
    task = _held(gateway)
    for _ in range(3):
        _update(gateway, task)
        shown = gateway.task(task)
        assert shown.keys() >= SHOWN
        assert (shown["status"], "result" in shown) == ("working", False)
    (request,) = gateway.open()
    assert f"/approvals/{request.id}/" in shown["statusMessage"]
    assert gateway.outside() == []

    gateway.decide()
    done = _ended(gateway, task)
    assert (done["status"], text_of(done["result"])) == ("completed", "sent to ada@example.org")
    assert gateway.outside() == SENT
    # An ended task stays as it is, whatever is asked of it.
    _update(gateway, task)
    _cancel(gateway, task)
    assert gateway.task(task) == done
    assert gateway.outside() == SENT


def test_cancelled_at_every_point_of_its_life(gateway: Gate) -> None:
    """Before a decision, after it, at work, ended: what has begun goes on to its end."""
    gateway.policy("tool in ['send_mail', 'look']")
    undecided = _held(gateway)
    _cancel(gateway, undecided)
    _cancel(gateway, undecided)
    assert gateway.open() == []
    assert _ended(gateway, undecided)["status"] == "cancelled"

    approved = _held(gateway)
    gateway.decide()
    _cancel(gateway, approved)
    assert _ended(gateway, approved)["status"] == "cancelled"
    assert gateway.outside() == []

    slow = _held(gateway, "look", {"key": "k", "seconds": 3})
    gateway.decide()
    assert gateway.task(slow)["status"] == "working"  # this has begun it
    wait_until(lambda: gateway.outside() == ["look at k"], seconds=20, what="the call")
    _cancel(gateway, slow)
    assert gateway.task(slow)["statusMessage"] == "The call is at work."
    # An admin who now forbids the tool stops the calls that have not begun.
    set_mcp_tool_mode(gateway.cast.actor("admin"), gateway.server, "look", "refuse")
    assert gateway.task(slow)["statusMessage"] == "The call is at work."
    assert text_of(_ended(gateway, slow)["result"]) == "k"
    assert gateway.outside() == ["look at k"]
    for thread in gateway.threads():
        assert chain.verify_thread(thread.id).intact


def test_a_task_says_why_its_call_did_not_happen(gateway: Gate) -> None:
    """Rejected; approved, but the tool is another one by now; approved, but now forbidden."""
    gateway.policy()
    admin = gateway.cast.actor("admin")
    rejected = _held(gateway)
    gateway.decide("reject", comment="not to her")
    _never_called(gateway, rejected, "not to her")

    changed = _held(gateway, args=MAIL | {"text": "second"})
    gateway.decide()
    gateway.upstream.describe("Send a mail, and a copy to mallory.")
    gateway.result("tools/list")
    _never_called(gateway, changed, "changed since an admin accepted it")

    gateway.accept()
    forbidden = _held(gateway, args=MAIL | {"text": "third"})
    gateway.decide()
    set_mcp_tool_mode(admin, gateway.server, "send_mail", "refuse")
    _never_called(gateway, forbidden, "lets nobody call")
    assert gateway.outside() == []


def _never_called(at: Gate, task: str, why: str) -> None:
    """The task is over without its call, says why, and says the same when asked again."""
    shown = at.task(task)
    assert (shown["status"], shown["result"]["isError"]) == ("completed", True)
    assert why in text_of(shown["result"]), shown
    assert at.task(task) == shown


def test_a_task_whose_outcome_is_unknown_fails_and_names_its_page(
    real_db: str, tmp_path: Path
) -> None:
    with gate(tmp_path, command=True) as at:
        at.policy("tool == 'fall_over'")
        task = _held(at, "fall_over", {})
        at.decide()
        shown = _ended(at, task)
        assert (shown["status"], f"/threads/{task}/" in shown["statusMessage"]) == ("failed", True)
        assert f"/threads/{task}/" in shown["error"]["message"]
        assert at.outside() == ["fell over"]
        (thread,) = [row for row in at.threads() if str(row.id) == task]
        assert thread.status is Status.ATTENTION
        _cancel(at, task)
        assert at.task(task)["status"] == "failed"
        assert at.outside() == ["fell over"]


def test_wrong_messages_about_tasks_do_nothing(gateway: Gate) -> None:
    gateway.policy()
    task = _held(gateway)
    gateway.decide()
    for method in ("tasks/list", "tasks/result", "tasks/", "tasks/get/x", "tasks/GET"):
        answer = last(gateway.send(method, {"taskId": task}, tasks=True))
        assert answer["error"]["code"] == -32601, method
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        without = last(gateway.send(method, {"taskId": task}))
        assert without["error"]["code"] == -32021, method
        for params in ({}, {"taskId": None}, {"taskId": [task]}, {"taskId": task[:-1]}):
            answer = last(gateway.send(method, params, tasks=True))
            assert answer["error"]["code"] == -32602, (method, params)
        # Without an id it is no request: nothing is begun, and nobody is answered.
        body = {"jsonrpc": "2.0", "method": method, "params": {"taskId": task}}
        response = gateway.post(body)
        assert (response.status_code, response.content) == (202, b"")
    assert gateway.outside() == []
    assert gateway.open() == []
    assert _ended(gateway, task)["status"] == "completed"
    assert gateway.outside() == SENT
