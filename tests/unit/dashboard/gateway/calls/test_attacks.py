"""No effect without a live decision on exactly those bytes, whatever a client tries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from approvals import gates
from approvals.policies import queries as policies
from checkpoints import store
from dashboard.administration.policies import edit_policy
from dashboard.errors import Invalid
from dashboard.identity import tokens
from dashboard.threads.start import start_thread
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import Gate, last, text_of
from workers.external.announcement import Announcement

pytestmark = [pytest.mark.nightly, pytest.mark.requirement("G10")]
MAIL = {"to": "ada@example.org", "text": "hello"}


@pytest.fixture
def approved(gateway: Gate) -> tuple[Gate, str]:
    """A gateway before a mail that was asked for as a task and approved, and the task."""
    gateway.policy()
    task = gateway.call("send_mail", MAIL, tasks=True)["taskId"]
    gateway.decide()
    return gateway, task


@pytest.mark.parametrize(
    "args",
    [
        {"to": "ada@example.org", "text": "hello "},
        {"to": "mallory@example.org", "text": "hello"},
        {"to": "ada@example.org", "text": "hello", "bcc": "mallory@example.org"},
        {"to": "ada@example.org"},
        {"to": "ada@example.org", "text": ["hello"]},
        {},
    ],
)
def test_other_arguments_than_the_approved_are_asked_anew(
    approved: tuple[Gate, str], args: dict[str, object]
) -> None:
    gateway, _ = approved
    assert "/approvals/" in text_of(gateway.call("send_mail", args))
    assert gateway.outside() == []


def test_another_token_gets_nothing_of_it(approved: tuple[Gate, str]) -> None:
    gateway, task = approved
    other = gateway.token_of("operator")
    stranger = gateway.token_of("stranger")
    assert "/approvals/" in text_of(gateway.call("send_mail", MAIL, token=other))
    for token, status in ((other, 200), (stranger, 404)):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            response = gateway.send(method, {"taskId": task}, tasks=True, token=token)
            assert response.status_code == status
            assert "error" in last(response)
    assert gateway.outside() == []
    assert "/approvals/" in text_of(
        gateway.call("send_mail", MAIL, headers={"Gatepost-Conversation": "b"})
    )
    assert gateway.outside() == []


def test_forged_tasks_are_unknown(approved: tuple[Gate, str]) -> None:
    gateway, task = approved
    gateway.call("add", {"a": 1, "b": 1})
    threads = [str(t.id) for t in gateway.threads() if str(t.id) != task]
    (activity,) = [str(a.id) for a in gateway.effects()]
    forged = [str(uuid4()), task.upper(), f"{task} ", "", "../x", activity, *threads]
    for ident in forged:
        answer = last(gateway.send("tasks/get", {"taskId": ident}, tasks=True))
        assert answer["error"]["code"] == -32602, ident
    for ident in (None, 7, ["x"], {"a": 1}):
        answer = last(gateway.send("tasks/get", {"taskId": ident}, tasks=True))
        assert answer["error"]["code"] == -32602, ident
    answer = last(gateway.send("tasks/get", {"taskId": task}))
    assert answer["error"]["code"] == -32021
    answer = last(gateway.send("tasks/result", {"taskId": task}, tasks=True))
    assert answer["error"]["code"] == -32601
    assert gateway.outside() == []


@pytest.mark.parametrize("means", ["revoked", "withdrawn right", "disabled", "no scope"])
def test_who_may_not_call_any_more_gets_nothing_done(
    approved: tuple[Gate, str], means: str
) -> None:
    gateway, task = approved
    user = gateway.cast.users["operator"]
    token = gateway.token
    if means == "revoked":
        tokens.revoke(token, by="user:0")
    elif means == "withdrawn right":
        store.withdraw(gateway.cast.workspace, user.pk, "operator", actor="user:0")
        store.grant(gateway.cast.workspace, user.pk, "viewer", actor="user:0")
    elif means == "disabled":
        user.is_active = False
        user.save()
    else:
        token = tokens.make(user, made_by="test", scopes=["start"])[1]
    for method, params in (
        ("tools/call", {"name": "send_mail", "arguments": MAIL}),
        ("tasks/get", {"taskId": task}),
        ("tools/list", {}),
    ):
        response = gateway.send(method, params, tasks=True, token=token)
        assert response.status_code in (401, 403), response.text
    assert gateway.outside() == []


def test_an_approval_that_a_stricter_policy_overtook_does_nothing(gateway: Gate) -> None:
    gateway.policy()
    task = gateway.call("send_mail", MAIL, tasks=True)["taskId"]
    gateway.decide()
    # Stricter terms since the approval: asked anew, and nothing has happened.
    gateway.policy("tool == 'send_mail' && args.to != ''", risk="high")
    newest = policies.policies(gateway.cast.workspace)[-1]
    edit_policy(gateway.cast.actor("admin"), newest.policy, position=1)
    assert gateway.task(task)["status"] == "working"
    assert gateway.outside() == []
    assert len(gateway.open()) == 1


def test_a_decision_that_came_too_late_is_none(gateway: Gate) -> None:
    gateway.policy(deadline=1.0)
    task = gateway.call("send_mail", MAIL, tasks=True)["taskId"]

    def ended() -> bool:
        gates.expire_due()  # what a worker's sweep does
        return bool(gateway.task(task)["status"] == "completed")

    wait_until(ended, seconds=20, what="the deadline")
    assert "time" in text_of(gateway.task(task)["result"])
    assert gateway.outside() == []


def test_many_at_once_consume_an_approval_once(approved: tuple[Gate, str]) -> None:
    gateway, task = approved

    def poll(_: int) -> str:
        return str(gateway.task(task)["status"])

    def call(_: int) -> str:
        return text_of(gateway.call("send_mail", MAIL))

    with ThreadPoolExecutor(12) as pool:
        polls, calls = pool.map(poll, range(12)), pool.map(call, range(12))
        results = [*polls, *calls]
    assert len(results) == 24
    wait_until(lambda: gateway.task(task)["status"] == "completed", seconds=20, what="the task")
    assert gateway.outside() == ["mail to ada@example.org: hello"]


def test_a_name_that_is_sent_twice_is_refused(gateway: Gate) -> None:
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"add","name":"send_mail","arguments":{"to":"x","text":"y"}}}'
    )
    assert gateway.post(raw).status_code == 400
    assert gateway.outside() == []


MALFORMED = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":7}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":[]}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1e999}}}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look","arguments":{"key":"k"}}}',
    b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"look",'
    b'"arguments":{"key":"k"}}}',
    b"\xff\xfe",
    b"[" * 3_000,
]


def test_malformed_messages_are_refused_and_do_nothing(gateway: Gate) -> None:
    for body in MALFORMED:
        response = gateway.post(body)
        assert response.status_code in (200, 400), (body, response.text)
        assert "error" in last(response), body
    assert list(gateway.threads()) == []
    assert gateway.outside() == []
    assert "Traceback" not in gateway.site.log("web")


def test_nobody_else_begins_a_thread_of_the_gateway(gateway: Gate) -> None:
    """A thread under the name of a call could answer the client with a result of its own."""
    actor = gateway.cast.actor("operator")
    for external in (None, Announcement()):
        with pytest.raises(Invalid) as refused:
            start_thread(actor, agent="mcp:mail", name="a/b", input={}, external=external)
        assert refused.value.path == "$.agent"
    assert list(gateway.threads()) == []


def test_a_login_is_no_token(gateway: Gate) -> None:
    for headers in ({"Authorization": ""}, {"Authorization": "Basic eDp5"}):
        response = gateway.send("tools/list", headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
