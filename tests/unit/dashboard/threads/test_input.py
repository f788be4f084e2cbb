"""New input by every entry: who may, what is refused and why, what is shown until it is taken."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError
from django.test import Client

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.errors import Conflict, Invalid, NotAllowedNow, Stale
from dashboard.fields.validation import MESSAGE_BYTES
from dashboard.identity.permissions import allowed_actions
from dashboard.threads.input import INPUT, SendInput
from tests.support.cast import Cast
from tests.unit.dashboard import scene

V1 = "/api/v1"


@pytest.fixture
def agent(cast: Cast) -> UUID:
    return scene.make_agent("listener", inbox="findings")


@pytest.fixture
def thread(cast: Cast, agent: UUID) -> UUID:
    return scene.start(cast.workspace, agent)


def post(client: Client, thread: UUID, body: Any, **headers: str) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body)
    return client.post(
        f"{V1}/threads/{thread}/input/", raw, content_type="application/json", headers=headers
    )


# --- the action -------------------------------------------------------------------------------


def test_a_message_is_kept_with_its_sender(cast: Cast, thread: UUID) -> None:
    who = cast.actor("operator")
    seq = INPUT.run(who, SendInput(message="look north"), thread)
    [waiting] = queries.waiting_inputs(thread)
    assert (waiting.seq, waiting.message, waiting.actor) == (seq, "look north", who.id)
    with pytest.raises(Stale):
        INPUT.run(who, SendInput(message="late"), thread, expected_version=99)
    assert INPUT.run(who, SendInput(message="in time"), thread, expected_version=1) > seq


def test_an_agent_without_inbox_says_so(cast: Cast) -> None:
    who = cast.actor("operator")
    deaf = scene.start(cast.workspace, scene.make_agent())
    with pytest.raises(
        Conflict, match="research accepts no new input: its graph names no message channel"
    ):
        INPUT.run(who, SendInput(message="hello"), deaf)
    row = queries.thread(deaf, workspace=cast.workspace)
    assert "no message channel" in allowed_actions(who, row)["input"].why
    assert queries.waiting_inputs(deaf) == []


@pytest.mark.parametrize(
    ("message", "path", "why"),
    [
        (7, "$", "must be text, not 7"),
        ({"$artifact": "0" * 64}, "$", "must be text, not an object"),
        ("a\0b", "$", "NUL"),
        ("x" * MESSAGE_BYTES, "$", "exceeds|bytes"),
        (float("nan"), "$", "NaN|finite|number"),
    ],
)
def test_refused_messages_name_the_path(
    cast: Cast, thread: UUID, message: Any, path: str, why: str
) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        INPUT.run(cast.actor("operator"), SendInput(message=message), thread)
    assert caught.value.request_path == "$.message" + path[1:]
    assert queries.waiting_inputs(thread) == []


def test_an_object_is_judged_by_the_item_of_the_inbox(cast: Cast) -> None:
    schema = {
        "type": "object",
        "properties": {"talk": {"anyOf": [{"$ref": "#/$defs/Talk"}, {"type": "null"}]}},
        "$defs": {
            "Talk": {"type": "array", "items": {"$ref": "#/$defs/Message"}},
            "Message": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "file": {"type": "object"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
    }
    version = store.announce_version(
        agent="chat", version=1, fingerprint="c", label="Chat", description="", schema_version=1,
        schema=schema, channels={"talk": {"reducer": "append", "default": []}},
        graph=scene.GRAPH | {"inbox": "talk"}, tools={}, queue="gatepost",
    )  # fmt: skip
    who = cast.actor("operator")
    thread = store.start(version, input={}, workspace=cast.workspace, actor="user:1")
    for message, path in (
        ({"text": 1}, "$.message.text"),
        ({}, "$.message.text"),
        ({"text": "x", "more": 1}, "$.message.more"),
        ({"text": "x", "file": {"$artifact": "0" * 64}}, "$.message.file"),
    ):
        with pytest.raises(Invalid) as caught:
            INPUT.run(who, SendInput(message=message), thread)
        assert caught.value.request_path == path
    INPUT.run(who, SendInput(message={"text": "fine"}), thread)
    assert len(queries.waiting_inputs(thread)) == 1


# --- the API ----------------------------------------------------------------------------------


def test_the_call_answers_the_thread_with_what_waits(operator: Client, thread: UUID) -> None:
    before = operator.get(f"{V1}/threads/{thread}/")
    assert before.json()["inputs"] == []
    assert before.json()["message_channel"] == "findings"
    assert before.json()["actions"]["input"] == {"allowed": True, "why": ""}
    response = post(operator, thread, {"message": "look north"}, if_match=before["ETag"])
    assert response.status_code == 200
    payload = response.json()
    assert response["ETag"] == before["ETag"]  # no version is spent
    [waiting] = payload["inputs"]
    assert (waiting["message"], waiting["seq"]) == ("look north", payload["last_seq"])
    events = operator.get(f"{V1}/threads/{thread}/events/?kind=input").json()["results"]
    assert [(e["kind"], e["data"]) for e in events] == [
        ("input.received", {"message": "look north"})
    ]


def test_refusals_of_the_call(cast: Cast, operator: Client, thread: UUID, agent: UUID) -> None:
    def refused(response: Any, status: int, path: str) -> None:
        assert response["Content-Type"] == "application/problem+json"
        assert (response.status_code, response.json()["path"]) == (status, path)

    refused(post(operator, thread, {}), 422, "$.message")
    refused(post(operator, thread, {"message": 1}), 422, "$.message")
    refused(post(operator, thread, {"message": "x", "to": 1}), 422, "$.to")
    refused(post(operator, thread, b'{"message": NaN}'), 400, "$.message")
    assert post(operator, thread, {"message": "x"}, if_match='"99"').status_code == 412
    assert post(cast.client("manager"), thread, {"message": "x"}).status_code == 403
    assert post(cast.client("stranger"), thread, {"message": "x"}).status_code == 404
    deaf = scene.start(cast.workspace, scene.make_agent())
    problem = post(operator, deaf, {"message": "x"})
    assert problem.status_code == 409
    assert "names no message channel" in problem.json()["detail"]
    store.cancel(thread, actor="user:1")
    ended = post(operator, thread, {"message": "x"})
    assert (ended.status_code, ended.json()["thread_status"]) == (409, "cancelled")
    assert queries.waiting_inputs(thread) == []


# --- the page ---------------------------------------------------------------------------------


def test_the_page_shows_the_form_and_what_waits(cast: Cast, operator: Client, thread: UUID) -> None:
    page = operator.get(f"/threads/{thread}/").content.decode()
    assert 'id="send-input"' in page
    assert (
        f'formaction="/threads/{thread}/input/"' in page
        or f'action="/threads/{thread}/input/"' in page
    )
    response = operator.post(f"/threads/{thread}/input/", {"f-message": "look <north>\nnow"})
    assert (response.status_code, response["Location"]) == (303, f"/threads/{thread}/")
    page = operator.get(f"/threads/{thread}/").content.decode()
    assert "look &lt;north&gt;" in page
    assert "1 not taken yet" in page
    assert queries.waiting_inputs(thread)[0].message == "look <north>\nnow"
    # Who may not send sees what waits, but no form; an agent without inbox has no such card.
    other = cast.client("auditor").get(f"/threads/{thread}/").content.decode()
    assert "look &lt;north&gt;" in other
    assert 'name="f-message"' not in other
    deaf = scene.start(cast.workspace, scene.make_agent())
    assert 'name="f-message"' not in operator.get(f"/threads/{deaf}/").content.decode()


def test_a_refused_message_comes_back_with_its_text(operator: Client, thread: UUID) -> None:
    for text, message in ((" ", "Write something"), ("x" * (MESSAGE_BYTES + 1), "bytes")):
        response = operator.post(f"/threads/{thread}/input/", {"f-message": text})
        assert response.status_code == 422
        html = response.content.decode()
        assert message in html
        assert text.strip()[:50] in html
    assert queries.waiting_inputs(thread) == []
    work = scene.lease(thread)
    store.leave(work, EventKind.THREAD_SUCCEEDED)
    response = operator.post(f"/threads/{thread}/input/", {"f-message": "too late"})
    assert response.status_code == 409
    assert "too late" in response.content.decode()
    assert "succeeded" in response.content.decode()
    page = operator.get(f"/threads/{thread}/").content.decode()
    assert 'name="f-message"' not in page


def test_the_page_says_when_nobody_will_take_it_any_more(operator: Client, thread: UUID) -> None:
    work = scene.lease(thread)
    store.send_input(thread, message="too late", actor="user:1")
    store.leave(work, EventKind.THREAD_SUCCEEDED)
    page = operator.get(f"/threads/{thread}/").content.decode()
    assert "too late" in page
    assert "arrived after the last step, so nothing used" in page


# --- the command ------------------------------------------------------------------------------


def test_the_command_sends_json_or_text(
    cast: Cast, thread: UUID, capsys: pytest.CaptureFixture[str]
) -> None:
    from django.core.management import call_command

    call_command("threads", "input", str(thread), '"look north"')
    assert "not taken yet" in capsys.readouterr().out
    call_command("threads", "input", str(thread), "--text", "look south", "--json")
    payload = json.loads(capsys.readouterr().out)
    assert [i["message"] for i in payload["inputs"]] == ["look north", "look south"]
    for bad in (["7"], ["--text", "x", '"y"'], [], ["{"]):
        with pytest.raises((SystemExit, CommandError)):
            call_command("threads", "input", str(thread), *bad)
    assert len(queries.waiting_inputs(thread)) == 2


def test_not_for_threads_that_have_ended(cast: Cast, thread: UUID) -> None:
    store.cancel(thread, actor="user:1")
    with pytest.raises(NotAllowedNow, match="cancelled"):
        INPUT.run(cast.actor("operator"), SendInput(message="x"), thread)
    row = queries.thread(thread, workspace=cast.workspace)
    assert row.status is Status.CANCELLED
    why = allowed_actions(cast.actor("operator"), row)["input"].why
    assert why.startswith("Only possible while the thread is queued")
