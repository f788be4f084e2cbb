"""An ephemeral thread by API, command and page: nothing of it is ever shown as durable."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.urls import reverse

from checkpoints import queries
from checkpoints.chain import verify_thread
from checkpoints.durabilities import FORGOTTEN, NOT_KEPT, SEND_AGAIN
from checkpoints.ephemeral import copies
from tests.support.cast import Cast
from tests.unit.workers.graphs import ephemeral
from workers.code.registry import announce
from workers.slot import loop
from workers.slot.claims import take
from workers.step.step import Agent

pytestmark = [pytest.mark.requirement("A14"), pytest.mark.requirement("E07")]
JSON = {"content_type": "application/json"}


class Chat:
    """One chat by API, its turns worked by the slot's loop."""

    def __init__(self, cast: Cast, agents: dict[str, Agent]) -> None:
        self.cast, self.agents = cast, agents
        self.client = cast.client("operator")
        self.id = UUID(self.call("/threads/", self.started("hello"), status=201)["id"])

    def started(self, text: str) -> dict[str, Any]:
        return {"agent": "chat", "name": "c-1", "input": {"messages": [_message(text)]}}

    def call(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        path = f"/api/v1{path}"
        if body is None:
            answer = self.client.get(path)
        else:
            answer = self.client.post(path, json.dumps(body), **JSON)
        assert answer.status_code == status, answer.content.decode()
        return answer.json()

    def turn(self) -> None:
        work = take(self.id, owner="worker:test", agents=self.agents)
        assert work is not None
        loop.work_on(work)


@pytest.fixture
def chat(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Chat:
    agents = {"chat": announce(ephemeral.graph, {}, [ephemeral])}
    monkeypatch.setattr(loop, "agents", lambda: agents)
    return Chat(cast, agents)


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_messages_are_buffered_and_answered(chat: Chat) -> None:
    chat.turn()
    answer = chat.call(f"/threads/{chat.id}/input/", {"message": _message("more")}, status=202)
    assert (answer["durability"], answer["status"]) == ("ephemeral", "succeeded")
    assert [row["message"]["content"] for row in answer["inputs"]] == ["more"]
    chat.turn()
    detail = chat.call(f"/threads/{chat.id}/")
    assert (detail["inputs"], detail["totals"]["tokens"]) == ([], 20)
    state = chat.call(f"/threads/{chat.id}/state/")
    assert [m["content"] for m in state["state"]["messages"]][-1] == "You said more"
    assert (state["context"]["durability"], state["context"]["note"]) == ("ephemeral", NOT_KEPT)
    # The same start again finds it; other input belongs to its /input/.
    assert chat.call("/threads/", {"agent": "chat", "name": "c-1"})["id"] == str(chat.id)
    refused = chat.call("/threads/", chat.started("other"), status=422)
    assert "/input/" in json.dumps(refused)
    agent = chat.call("/agents/chat/")
    assert (agent["durability"], agent["ttl"]) == ("ephemeral", 60)


@pytest.mark.parametrize("verb", ["edit", "fork", "rollback", "skip", "signals"])
def test_what_needs_history_is_refused(chat: Chat, verb: str) -> None:
    chat.turn()
    body = {
        "edit": {"changes": {"answers": 7}, "reason": "why"},
        "fork": {"checkpoint": str(chat.id)},
        "rollback": {"checkpoint": str(chat.id), "reason": "why"},
        "skip": {"node": "answer", "reason": "why"},
        "signals": {"name": "news"},
    }[verb]
    refused = chat.call(f"/threads/{chat.id}/{verb}/", body, status=409)
    assert NOT_KEPT in json.dumps(refused)
    name = {"rollback": "rollback", "signals": "signal"}.get(verb, verb)
    allowed = chat.call(f"/threads/{chat.id}/")["actions"][name]
    assert not allowed["allowed"]
    assert NOT_KEPT in allowed["why"]


def test_reads_of_history_say_that_it_is_not_kept(chat: Chat) -> None:
    chat.turn()
    assert chat.call(f"/threads/{chat.id}/checkpoints/")["results"] == []
    assert chat.call(f"/threads/{chat.id}/activities/")["results"] == []
    for path in ("anatomy/", f"diff/?from={chat.id}"):
        assert NOT_KEPT in json.dumps(chat.call(f"/threads/{chat.id}/{path}", status=404))
    capsule = chat.client.get(f"/api/v1/threads/{chat.id}/capsule/")
    assert capsule.status_code == 404
    assert NOT_KEPT in capsule.content.decode()


def test_a_failed_turn_is_not_retried(chat: Chat) -> None:
    chat.turn()
    chat.call(f"/threads/{chat.id}/input/", {"message": _message("fail now")}, status=202)
    chat.turn()
    refused = chat.call(f"/threads/{chat.id}/retry/", {}, status=409)
    assert SEND_AGAIN in json.dumps(refused)


def test_once_its_time_is_up_the_state_is_gone(chat: Chat) -> None:
    chat.turn()
    copies.forget(chat.id)
    assert NOT_KEPT in json.dumps(chat.call(f"/threads/{chat.id}/state/", status=404))
    body = {"message": _message("more")}
    refused = chat.call(f"/threads/{chat.id}/input/", body, status=409)
    assert FORGOTTEN in json.dumps(refused)
    page = chat.client.get(f"/threads/{chat.id}/").content.decode()
    assert NOT_KEPT in page
    assert "altered or lost" not in page


def test_a_message_of_the_wrong_form_is_refused(chat: Chat) -> None:
    chat.turn()
    refused = chat.call(f"/threads/{chat.id}/input/", {"message": "text"}, status=422)
    assert "$.message" in json.dumps(refused)
    assert copies.count_messages(chat.id) == 0


def test_the_page_says_what_is_not_kept(chat: Chat) -> None:
    chat.turn()
    page = chat.client.get(f"/threads/{chat.id}/").content.decode()
    assert page.count(NOT_KEPT) >= 4
    assert "You said hello" in page
    for verb in ("fork", "rollback", "edit"):
        assert f'data-action="{verb}"' not in page
    assert "is missing" not in page
    form = chat.client.get("/threads/new/?agent=chat").content.decode()
    assert "Durability ephemeral: nothing is kept" in form
    policies = chat.cast.client("admin").get(reverse("admin:policies")).content.decode()
    assert "Chat keeps nothing" in " ".join(policies.split())


def test_commands_say_it(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    chat.turn()
    as_operator = {"as_user": "operator"}
    call_command("threads", "state", str(chat.id), **as_operator)
    written = capsys.readouterr()
    assert NOT_KEPT in written.out + written.err
    assert "You said hello" in written.out
    for verb in ("show", "checkpoints", "activities"):
        call_command("threads", verb, str(chat.id), **as_operator)
        written = capsys.readouterr()
        assert NOT_KEPT in written.out + written.err, verb
        assert "checkpoint 0" not in written.out
    call_command("agent", "show", "chat", **as_operator)
    assert "ephemeral: nothing is kept" in capsys.readouterr().out
    assert queries.thread(chat.id, workspace=chat.cast.workspace).is_ephemeral


def test_erasing_it_forgets_its_state(chat: Chat, django_capture_on_commit_callbacks: Any) -> None:
    chat.turn()
    body = {"reason": "Consent withdrawn", "scope": "family"}
    made = chat.call(f"/threads/{chat.id}/erasure/", body, status=201)
    with django_capture_on_commit_callbacks(execute=True):
        answer = chat.cast.client("admin").post(
            f"/api/v1/erasures/{made['id']}/decide/", json.dumps({"verdict": "approve"}), **JSON
        )
    assert answer.status_code == 200, answer.content.decode()
    assert copies.load(chat.id) is None
    report = verify_thread(chat.id)
    assert (report.intact, report.what) == (True, "")
    assert "Consent withdrawn" in report.erased
    page = chat.client.get(f"/threads/{chat.id}/").content.decode()
    assert "You said hello" not in page
