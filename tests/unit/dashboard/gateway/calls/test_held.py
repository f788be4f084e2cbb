"""Calls that people decide: held, approved, rejected, carried out once, by retry and by task."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from checkpoints import chain
from checkpoints.states import Status
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from tests.contract.clients.editing import Editor
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import Gate, gate, stream, text_of
from tests.unit.dashboard.gateway.servers import set_mcp_tool_mode

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]
MAIL = {"to": "ada@example.org", "text": "hello"}
SENT = ["mail to ada@example.org: hello"]


@pytest.mark.interop("MCP client")
@pytest.mark.requirement("E02")
def test_a_held_call_is_carried_out_once_when_the_client_sends_it_again(gateway: Gate) -> None:
    gateway.policy()
    held = gateway.call("send_mail", MAIL)
    (request,) = gateway.open()
    assert held["isError"]
    assert f"/approvals/{request.id}/" in text_of(held)
    # Others go on meanwhile, and the same call opens no second request.
    assert text_of(gateway.call("add", {"a": 1, "b": 2})) == "3"
    gateway.call("send_mail", MAIL)
    assert [one.id for one in gateway.open()] == [request.id]
    assert gateway.outside() == []

    gateway.decide()
    assert text_of(gateway.call("send_mail", MAIL)) == "sent to ada@example.org"
    assert gateway.outside() == SENT
    # It was consumed: the same call once more is asked anew.
    assert "/approvals/" in text_of(gateway.call("send_mail", MAIL))
    assert gateway.outside() == SENT
    (again,) = gateway.open()
    assert again.id != request.id
    for thread in gateway.threads():
        assert chain.verify_thread(thread.id).intact


@pytest.mark.requirement("E02")
def test_a_held_call_is_a_task_for_clients_that_know_tasks(gateway: Gate) -> None:
    gateway.policy()
    created = gateway.call("send_mail", MAIL, tasks=True)
    assert (created["resultType"], created["status"]) == ("task", "working")
    task = created["taskId"]
    assert gateway.task(task)["status"] == "working"
    assert "/approvals/" in gateway.task(task)["statusMessage"]
    assert gateway.outside() == []
    gateway.decide()
    wait_until(lambda: gateway.task(task)["status"] == "completed", seconds=20, what="the task")
    done = gateway.task(task)
    assert text_of(done["result"]) == "sent to ada@example.org"
    assert gateway.outside() == SENT
    assert gateway.task(task) == done


def test_a_client_that_waits_gets_progress_and_then_the_result(
    real_db: str, tmp_path: Path
) -> None:
    with gate(tmp_path, GATEPOST_MCP_HOLD_SECONDS="30") as at, ThreadPoolExecutor(1) as pool:
        at.policy()
        params = {"name": "send_mail", "arguments": MAIL}
        coming = pool.submit(at.send, "tools/call", params, meta={"progressToken": "p"})
        wait_until(lambda: len(at.open()) == 1, seconds=20, what="the request")
        at.decide()
        *before, answer = stream(coming.result(30))
        assert {one["method"] for one in before} == {"notifications/progress"}
        assert text_of(answer["result"]) == "sent to ada@example.org"
        assert at.outside() == SENT


def test_a_rejection_and_its_reason_reach_the_agent(gateway: Gate) -> None:
    gateway.policy()
    task = gateway.call("send_mail", MAIL, tasks=True)["taskId"]
    gateway.decide("reject", comment="not to her")
    result = gateway.task(task)
    assert result["status"] == "completed"
    assert "not to her" in text_of(result["result"])
    assert result["result"]["isError"] is True
    assert gateway.outside() == []


@pytest.mark.browser
@pytest.mark.interop("MCP client")
def test_what_a_reviewer_edits_is_what_the_server_gets(browser: Browser, gateway: Gate) -> None:
    gateway.policy()
    gateway.call("send_mail", MAIL)
    (request,) = gateway.open()
    editor = Editor(browser, gateway.site.url, gateway.cast.cookie("manager"))
    shown = {"id": request.id, "title": request.headline}
    editor.edit(shown, {"to": "ben@example.org", "text": "hello"}, "to Ben")
    assert text_of(gateway.call("send_mail", MAIL)) == "sent to ben@example.org"
    assert gateway.outside() == ["mail to ben@example.org: hello"]


def test_an_agent_can_withdraw_what_it_asked(gateway: Gate) -> None:
    gateway.policy()
    task = gateway.call("send_mail", MAIL, tasks=True)["taskId"]
    gateway.result("tasks/cancel", {"taskId": task}, tasks=True)
    assert gateway.task(task)["status"] == "cancelled"
    assert gateway.open() == []


def test_a_tool_can_be_set_to_ask_or_refused(gateway: Gate) -> None:
    admin = gateway.cast.actor("admin")
    set_mcp_tool_mode(admin, gateway.server, "send_mail", "ask")
    assert "/approvals/" in text_of(gateway.call("send_mail", MAIL))
    gateway.decide()
    assert "sent" in text_of(gateway.call("send_mail", MAIL))
    set_mcp_tool_mode(admin, gateway.server, "send_mail", "refuse")
    assert "nobody" in text_of(gateway.call("send_mail", MAIL))
    names = [tool["name"] for tool in gateway.result("tools/list")["tools"]]
    assert "send_mail" not in names
    assert "add" in names
    assert len(gateway.outside()) == 1


def test_an_unknown_outcome_is_left_to_a_person(gateway: Gate) -> None:
    result = gateway.call("fall_over", {})
    assert "Nobody knows" in text_of(result)
    (thread,) = gateway.threads()
    assert thread.status is Status.ATTENTION
    assert [a.state for a in gateway.effects()] == ["unknown"]
    # Until somebody has looked this very call is refused; the server that it ended is not asked.
    again = text_of(gateway.call("fall_over", {}))
    assert "this very call" in again
    assert str(thread.id) in again
    assert "reached" in text_of(gateway.call("add", {"a": 1, "b": 2}))


def test_a_pause_holds_the_conversation(gateway: Gate) -> None:
    gateway.call("add", {"a": 1, "b": 2})
    (thread,) = gateway.threads()
    operator = gateway.cast.actor("operator")
    PAUSE.run(operator, Pause(), thread.id)
    assert "Paused" in text_of(gateway.call("look", {"key": "k"}))
    assert gateway.outside() == []
    RESUME.run(operator, Resume(), thread.id)
    assert text_of(gateway.call("look", {"key": "k"})) == "k"
