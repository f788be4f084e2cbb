"""Conversations that a provider holds: the state keeps their id, and the loss of one is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkpoints.states import Status
from dashboard.wording.events import event_sentence
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.language import holding
from workers.authoring.errors import ConversationGone, StepFailed
from workers.authoring.language_models import Reply, Request, request_of
from workers.language.configuration import model_of

from .model_server import ModelServer, Say, serving_models

FIRST, SECOND = Say("A mathematician."), Say("An inventor.")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving_models(FIRST, SECOND) as models:
        yield models


@pytest.fixture
def bench(server: ModelServer, db: None, settings: Any) -> Bench:
    settings.GATEPOST_MODEL = f"openai-responses:gpt-5@{server.url}"
    return bench_of(holding)


def paused_after_one(bench: Bench, **input: Any) -> Any:
    """A thread that is paused after its first question."""
    thread = bench.start(**input)
    assert bench.advance(thread, slice_seconds=0).step == 1
    bench.pause(thread)
    assert bench.row(thread).status is Status.PAUSED
    return thread


def inputs(server: ModelServer) -> list[list[str]]:
    """The texts of each request, as the provider got them."""
    return [
        [
            item["content"]
            if isinstance(item["content"], str)
            else "".join(part["text"] for part in item["content"])
            for item in body["input"]
        ]
        for body in server.bodies
    ]


@pytest.mark.slow
@pytest.mark.requirement("A44")
def test_a_resumed_thread_goes_on_in_the_conversation_of_its_state(
    bench: Bench, server: ModelServer
) -> None:
    thread = paused_after_one(bench)
    assert bench.state(thread)["talk"] == "resp_1"
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["talk"] == "resp_2"
    before = [body.get("previous_response_id") for body in server.bodies]
    assert before == [None, "resp_1"]
    # What the provider holds is not sent again, the system text included.
    assert inputs(server) == [["You are brief.", "Who was Ada?"], ["And Charles?"]]
    assert len(server.held.conversations["resp_2"]) == 5
    assert "conversation.lost" not in bench.kinds(thread)
    (channel,) = (
        spec for name, spec in bench.agent.graph.describe_channels().items() if name == "talk"
    )
    assert channel == {"reducer": "last_value", "conversation": "openai-responses", "default": ""}


@pytest.mark.slow
@pytest.mark.requirement("A44")
def test_a_conversation_that_is_gone_starts_anew_with_the_recorded_messages(
    bench: Bench, server: ModelServer
) -> None:
    thread = paused_after_one(bench)
    server.held.forget()
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert inputs(server)[1:] == [
        ["And Charles?"],
        ["You are brief.", "Who was Ada?", "A mathematician.", "And Charles?"],
    ]
    (lost,) = (e for e in bench.events(thread) if e.kind == "conversation.lost")
    assert lost.data["conversation"] == "resp_1"
    assert (lost.data["if_gone"], lost.data["messages"]) == ("restart", 3)
    assert "Previous response with id 'resp_1' not found" in lost.data["reason"]
    assert event_sentence(lost) == (
        "The provider no longer holds the conversation resp_1: started another with the 3 "
        "recorded messages"
    )
    assert bench.state(thread)["talk"] == "resp_3"
    calls = [a for a in bench.activities(thread) if a.kind == "model"]
    assert [a.args["if_gone"] for a in calls] == ["restart", "restart"]
    assert bench.intact(thread)


@pytest.mark.slow
@pytest.mark.requirement("A44")
def test_an_agent_may_choose_to_fail_and_a_person_to_start_anew(
    bench: Bench, server: ModelServer
) -> None:
    thread = paused_after_one(bench, if_gone="fail")
    server.held.forget()
    bench.resume(thread)
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "no longer holds the conversation 'resp_1'" in row.status_reason
    (lost,) = (e for e in bench.events(thread) if e.kind == "conversation.lost")
    assert lost.data["if_gone"] == "fail"
    assert event_sentence(lost).endswith("resp_1: the agent chose to fail")
    bench.edit(thread, {"talk": ""}, "The provider keeps them for 30 days")
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert inputs(server)[-1][1:] == ["Who was Ada?", "A mathematician.", "And Charles?"]


@pytest.mark.slow
def test_a_fork_goes_on_after_the_answer_that_stood_there(
    bench: Bench, server: ModelServer
) -> None:
    thread = paused_after_one(bench)
    bench.resume(thread)
    bench.advance(thread)
    fork = bench.fork(thread, 1, {"ask": ["Who was Ada?", "And Grace?"]})
    assert bench.advance(fork).status is Status.SUCCEEDED
    assert server.bodies[-1]["previous_response_id"] == "resp_1"
    assert inputs(server)[-1] == ["And Grace?"]


@pytest.mark.parametrize("stream", ["yes", "no"])
def test_streamed_or_whole_it_holds_the_conversation(server: ModelServer, stream: str) -> None:
    model: Any = model_of(f"openai-responses:gpt-5@{server.url}" + "?stream=no" * (stream == "no"))
    query = request_of((), {}, messages=[{"role": "user", "content": "x"}], conversation="")
    reply = model(query)
    assert (reply.text, reply.conversation) == ("A mathematician.", "resp_1")
    assert bool(server.bodies[0].get("stream")) is (stream == "yes")
    server.held.forget()
    again = request_of((), {}, messages=[{"role": "user", "content": "x"}], conversation="resp_1")
    with pytest.raises(ConversationGone, match="resp_1"):
        model(again)


def test_without_conversation_nothing_changes(server: ModelServer) -> None:
    model: Any = model_of(f"openai-responses:gpt-5@{server.url}")
    assert model(Request(("x",))).conversation == ""


def test_a_model_that_holds_none_gets_all_messages_each_time(db: None, settings: Any) -> None:
    with serving_models(FIRST, SECOND) as plain:
        settings.GATEPOST_MODEL = f"openai:small@{plain.url}"
        bench = bench_of(holding)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert [len(body["messages"]) for body in plain.bodies] == [2, 4]
    assert bench.state(thread)["talk"] == ""


def test_a_function_of_the_author_holds_conversations_alike(
    make_bench: Callable[[Any], Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations: list[str | None] = []

    async def answer(request: Request) -> Reply:
        conversations.append(request.conversation)
        if request.conversation == "talk-1":
            raise ConversationGone("talk-1", "deleted")
        return Reply("Yes.", conversation=f"talk-{len(conversations)}")

    monkeypatch.setattr(holding.graph, "model", answer)
    bench = make_bench(holding)
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert conversations == ["", "talk-1", ""]
    assert bench.kinds(thread).count("conversation.lost") == 1
    assert bench.state(thread)["talk"] == "talk-3"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"conversation": ""}, "conversation= needs messages="),
        (
            {"messages": [{"role": "user", "content": "x"}], "conversation": 7},
            "takes text of up to",
        ),
        (
            {"messages": [{"role": "user", "content": "x"}], "conversation": "x" * 201},
            "up to 200 characters",
        ),
        (
            {"messages": [{"role": "user", "content": "x"}], "if_gone": "wait"},
            "if_gone= takes fail or restart, not 'wait'",
        ),
    ],
)
def test_what_is_no_conversation_is_refused(query: dict[str, Any], message: str) -> None:
    parts = () if "messages" in query else ("x",)
    with pytest.raises(StepFailed, match=message):
        request_of(parts, {}, **query)
