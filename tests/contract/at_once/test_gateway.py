"""What agents send through the MCP gateway, twice and four times at once, in two web processes.

One call of MCP is one call: n that need nobody are n effects. What people decide is one request
and one effect, whichever process gets the calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from operator import methodcaller
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django import DjangoDbBlocker

from checkpoints import queries
from checkpoints.states import WorkspaceEventKind as K
from dashboard.errors import Conflict
from dashboard.gateway.registry.changes import Wanted
from tests.conftest import real_database
from tests.faults.embedded.helpers import wait_until
from tests.support import decisions
from tests.support.cast import make_cast
from tests.support.site import second_web_process
from tests.unit.dashboard.gateway.calls.bench import Gate, gate_of, last, serving, text_of
from tests.unit.dashboard.gateway.servers import change_mcp_server

from . import broken_logs, together

pytestmark = pytest.mark.slow
ROUNDS = 2
MAIL = {"to": "ada@example.org", "text": "hello"}
SENT = "mail to ada@example.org: hello"
LEGACY = "2025-06-18"
ADDED = "3"
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "resources/read": ("resources", {"uri": "note://today"}),
    "prompts/get": ("prompts", {"name": "greet", "arguments": {"name": "Ada"}}),
    "completion/complete": (
        "completions",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "n", "value": "A"}},
    ),
}
_numbers = count(1)
type Gates = list[Gate]


@pytest.fixture(scope="module")
def two_sites(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Any]:
    """Two web processes on one database."""
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_at_once_gateway"),
        serving() as first,
        second_web_process(first) as second,
    ):
        yield first, second


@pytest.fixture
def gates(two_sites: Any, tmp_path: Path) -> Iterator[Gates]:
    """One workspace's gateway at both processes."""
    first, second = two_sites
    at = gate_of(first, make_cast(f"-{next(_numbers)}"), tmp_path)
    yield [at, replace(at, site=second)]
    assert "Traceback" not in first.log("web")
    assert broken_logs() == []


def at_once(gates: Gates, n: int, call: Callable[[Gate], Any]) -> list[Any]:
    """The answers of n calls that are sent together, to the one process and the other in turn."""
    return together([partial(call, at) for at, _ in zip(cycle(gates), range(n), strict=False)])


def started(at: Gate) -> Counter[str]:
    """The number of effects by tool and state, in all threads of the gateway."""
    return Counter(f"{effect.tool} {effect.state}" for effect in at.effects())


def reject(at: Gate, request: Any) -> None:
    manager = at.cast.actor("manager")
    terms: dict[str, Any] = {"proposal_hash": request.proposal_hash, "comment": "once is enough"}
    decisions.decide(manager, request.id, "reject", **terms)


def is_over(at: Gate, task: str) -> bool:
    return at.task(task)["status"] in ("completed", "cancelled")


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("tool", ["add", "send_mail"])
def test_each_of_n_allowed_calls_is_one_effect(gates: Gates, n: int, tool: str) -> None:
    args = {"a": 1, "b": 2} if tool == "add" else MAIL
    for number in range(1, ROUNDS + 1):
        # A new conversation each: its first thread is begun by n requests as well.
        named = {"Gatepost-Conversation": f"{tool}-{number}"}
        answers = at_once(gates, n, methodcaller("call", tool, args, headers=named))
        assert len({text_of(answer) for answer in answers}) == 1
        assert not any(answer["isError"] for answer in answers)
        assert started(gates[0]) == {f"{tool} done": n * number}
        sent = [SENT] * (n * number) if tool == "send_mail" else []
        assert gates[0].outside() == sent


@pytest.mark.parametrize("n", [2, 4])
def test_n_calls_that_people_decide_are_one_request_and_one_effect(gates: Gates, n: int) -> None:
    at = gates[0]
    at.policy()
    for number in range(1, ROUNDS + 1):
        held = {
            text_of(answer) for answer in at_once(gates, n, lambda at: at.call("send_mail", MAIL))
        }
        (request,) = at.open()
        assert len(held) == 1
        assert f"/approvals/{request.id}/" in held.pop()
        assert at.outside() == [SENT] * (number - 1)

        at.decide()
        answers = at_once(gates, n, lambda at: text_of(at.call("send_mail", MAIL)))
        assert at.outside() == [SENT] * number, answers
        assert started(at) == {"send_mail done": number}
        assert "sent to ada@example.org" in answers
        others = [text for text in answers if text != "sent to ada@example.org"]
        assert all("at work already" in text or "/approvals/" in text for text in others), answers
        # A call that came after the approval was consumed is asked anew, once.
        pending = at.open()
        assert len(pending) <= 1
        for one in pending:
            reject(at, one)
            at.call("send_mail", MAIL)


@pytest.mark.parametrize("n", [2, 4])
def test_n_calls_as_tasks_are_one_task_that_n_polls_carry_out_once(gates: Gates, n: int) -> None:
    at = gates[0]
    at.policy()
    for number in range(1, ROUNDS + 1):
        created = at_once(gates, n, lambda at: at.call("send_mail", MAIL, tasks=True)["taskId"])
        assert len(set(created)) == 1
        poll = methodcaller("task", created[0])
        assert len(at.open()) == 1
        at.decide()
        polled = at_once(gates, n, poll)
        assert {one["status"] for one in polled} <= {"working", "completed"}
        wait_until(partial(is_over, at, created[0]), seconds=20, what="the task")
        ended = at_once(gates, n, poll)
        assert len({str(one["result"]) for one in ended}) == 1
        assert at.outside() == [SENT] * number
        assert started(at) == {"send_mail done": number}


@pytest.mark.parametrize("n", [2, 4])
def test_n_withdrawals_beside_a_decision_come_to_one_outcome(gates: Gates, n: int) -> None:
    at = gates[0]
    at.policy()
    for _ in range(ROUNDS):
        before = len(at.outside())
        task = at.call("send_mail", MAIL, tasks=True)["taskId"]
        (request,) = at.open()

        def decide(request: Any = request) -> str:
            try:
                decisions.decide(
                    at.cast.actor("manager"),
                    request.id,
                    "approve",
                    proposal_hash=request.proposal_hash,
                )
            except Conflict as conflict:
                return type(conflict).__name__
            return "approved"

        def withdraw(gate: Gate, task: str = task) -> int:
            return gate.send("tasks/cancel", {"taskId": task}, tasks=True).status_code

        withdraws = [partial(withdraw, gates[i % 2]) for i in range(n)]
        decided, *statuses = together([decide, *withdraws])
        assert set(statuses) == {200}
        wait_until(partial(is_over, at, task), seconds=20, what="the task")
        status = at.task(task)["status"]
        happened = len(at.outside()) - before
        assert (status, happened) in {("cancelled", 0), ("completed", 1)}, decided
        assert not at.open()


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("method", READS)
def test_each_of_n_reads_is_on_record_and_n_held_ones_are_one_request(
    gates: Gates, n: int, method: str
) -> None:
    at, (group, params) = gates[0], READS[method]
    for number in range(1, ROUNDS + 1):
        answers = at_once(gates, n, lambda at: last(at.send(method, params)))
        shown = {str(answer.get("result") or answer["error"]) for answer in answers}
        assert len(shown) == 1
        assert started(at).total() == n * number
        assert {effect.state for effect in at.effects()} <= {"done", "failed"}
    change_mcp_server(at.cast.actor("admin"), at.server, Wanted(**{group: "ask"}))  # type: ignore[arg-type]
    before = started(at).total()
    for number in range(1, ROUNDS + 1):
        held = at_once(gates, n, lambda at: last(at.send(method, params))["error"]["message"])
        (request,) = at.open()
        assert len(set(held)) == 1
        assert str(request.id) in held[0]
        at.decide()
        at_once(gates, n, lambda at: last(at.send(method, params)))
        assert started(at).total() == before + number
        for one in at.open():
            reject(at, one)
            at.send(method, params)


@pytest.mark.parametrize("n", [2, 4])
def test_n_initializes_are_n_sessions_and_n_ends_of_one_end_it(gates: Gates, n: int) -> None:
    at = gates[0]

    def begin(gate: Gate) -> httpx.Response:
        about = {"clientInfo": {"name": "raw", "version": "1"}, "capabilities": {}}
        body = {"jsonrpc": "2.0", "id": next(gate.numbers), "method": "initialize"}
        return gate.post(body | {"params": {"protocolVersion": LEGACY, **about}})

    def end(gate: Gate, session: str) -> int:
        named = {"mcp-session-id": session, "mcp-protocol-version": LEGACY}
        bearer = {"Authorization": f"Bearer {gate.token}"}
        return httpx.delete(gate.url, headers=bearer | named, timeout=30).status_code

    begun = at_once(gates, n, begin)
    assert {response.status_code for response in begun} == {200}
    sessions = [response.headers["mcp-session-id"] for response in begun]
    assert len(set(sessions)) == n
    for session in sessions:
        statuses = at_once(gates, n, partial(end, session=session))
        assert set(statuses) <= {200, 202, 204, 404}, statuses
        assert min(statuses) < 300
        assert end(at, session) == 404


@pytest.mark.parametrize("n", [2, 4])
def test_a_tool_that_n_lists_see_changed_is_one_change(gates: Gates, n: int) -> None:
    at = gates[0]
    at.upstream.describe("Send a mail, and a copy to us.")
    listed = at_once(gates, n, methodcaller("result", "tools/list"))
    assert len({str(one["tools"]) for one in listed}) == 1
    events = queries.workspace_events(at.cast.workspace, limit=1_000).rows
    changed = [e for e in events if e.kind == K.MCP_TOOL_LISTED and e.data["state"] == "changed"]
    assert [e.data["tool"] for e in changed] == ["send_mail"]
    assert "changed" in text_of(at.call("send_mail", MAIL))
    assert at.outside() == []
