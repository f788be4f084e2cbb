"""ctx.model on both wires and through pydantic-ai, against servers that keep what they got."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from checkpoints import queries
from checkpoints.signals import activity_progressed
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import bare, conversing
from workers.step import token_stream

from .model_server import ModelServer, Say, serving_models

pytestmark = pytest.mark.django_db
KEY = "sk-test-0123456789abcdef0123456789"
# The last is the OpenAI client of pydantic-ai, which speaks the protocol of the first.
WIRES = ["openai", "anthropic", "openai-chat"]
NAMES = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "openai-chat": "gpt-4o"}
CITY = {"id": "call_1", "name": "weather.read", "arguments": {"city": "Oslo"}}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["", "&stream=no"], ids=["stream", "whole"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bench_for(settings: Any, monkeypatch: Any) -> Callable[..., Bench]:
    """A bench whose agents ask a server by a wire."""
    monkeypatch.setenv("MODEL_TEST_KEY", KEY)

    def make(server: ModelServer, wire: str, graph: Any = conversing, how: str = "") -> Bench:
        address = f"{server.url}?prices={wire}{how}"
        settings.GATEPOST_MODEL = f"{wire}:{NAMES[wire]}@{address}#MODEL_TEST_KEY"
        return bench_of(graph)

    return make


def squeezed(text: str) -> str:
    return text.replace(" ", "")


@pytest.mark.requirement("A39")
@pytest.mark.requirement("E08")
def test_an_agent_with_tools_is_the_same_on_both_wires(
    bench_for: Callable[..., Bench], wire: str, how: str
) -> None:
    say = Say(
        "Let me look.",
        calls=(("call_1", "weather_read", '{"city": "Oslo"}'),),
        reasoning="I do not know the weather.",
        cached=40,
        reasoned=8,
    )
    with serving_models(say) as server:
        bench = bench_for(server, wire, how=how)
        query = {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "How warm is it?"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "a", "name": "weather.read", "arguments": {"city": "x"}}],
                },
                {"role": "tool", "tool_call_id": "a", "content": "no such city"},
            ],
            "temperature": 0.5,
            "max_tokens": 50,
            "stop": ["END"],
            **({} if wire == "anthropic" else {"seed": 7}),
        }
        thread = bench.start(query=query)
        row = bench.advance(thread)
        assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
    (answer,) = bench.state(thread)["answers"]
    assert answer["tool_calls"] == [CITY]
    assert (answer["text"], answer["finish_reason"]) == ("Let me look.", "tool_calls")
    assert answer["reasoning"] == "I do not know the weather."
    usage = answer["usage"]
    assert usage["model"] == NAMES[wire]
    # pydantic-ai does not say the header, so it is the id in the body.
    request_id = "chatcmpl-1" if wire == "openai-chat" else "req-1"
    assert (usage["tokens"], usage["tokens_cached"]) == (120, 40)
    assert usage["request_id"] == request_id
    assert usage.get("tokens_reasoning", 8) == 8
    assert float(usage["cost"]) > 0
    assert (row.tokens, row.cost) == (120, usage["cost"])
    # What the log says beside the answer, in kinds of their own.
    events = {e.kind: e.data for e in bench.events(thread)}
    assert events["model.reasoned"]["text"] == "I do not know the weather."
    call = events["model.tool_called"]
    assert (call["tool"], call["arguments"], call["call"]) == (
        "weather.read", {"city": "Oslo"}, "call_1",
    )  # fmt: skip
    assert events["model.answered"]["usage"]["request_id"] == request_id
    assert bench.intact(thread)
    # What went over the wire.
    (got,) = server.got
    if wire == "anthropic":
        assert got.headers["x-api-key"] == KEY
    else:
        assert got.headers["authorization"] == f"Bearer {KEY}"
    body = got.body
    tokens = body["max_completion_tokens" if wire == "openai-chat" else "max_tokens"]
    assert (body["model"], body["temperature"], tokens) == (NAMES[wire], 0.5, 50)
    if wire != "anthropic":
        assert (body["seed"], body["stop"]) == (7, ["END"])
        assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool"]
        function = body["tools"][0]["function"]
        assert body["messages"][2]["tool_calls"][0]["function"]["name"] == "weather_read"
        assert function["description"] == "Read the weather of a city."
        schema = function["parameters"]
    else:
        assert (body["system"], body["stop_sequences"]) == ("Be brief.", ["END"])
        assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
        assert body["messages"][2]["content"][0]["tool_use_id"] == "a"
        function = body["tools"][0]
        schema = function["input_schema"]
    assert function["name"] == "weather_read"
    assert schema["properties"]["city"] == {"type": "string"}
    assert KEY not in json.dumps([e.data for e in bench.events(thread)])


@pytest.mark.slow
def test_an_answer_fits_its_schema_or_says_why_not(
    bench_for: Callable[..., Bench], wire: str
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    query = {"messages": [{"role": "user", "content": "A number."}], "schema": schema}
    answers = []
    texts = ('{"n": 3}', '{"n": "x"}', "three", '{"n": 1, "n": 2}')
    with serving_models(*map(Say, texts)) as server:
        bench = bench_for(server, wire)
        for _ in texts:
            thread = bench.start(query=query)
            assert bench.advance(thread).status is Status.SUCCEEDED
            answers += bench.state(thread)["answers"]
    sent = server.bodies[0]
    form = sent.get("response_format") or sent.get("output_config")
    assert form.get("json_schema", form.get("format"))["schema"] == schema
    assert answers[0]["data"] == {"n": 3}
    assert "error" not in answers[0]
    assert [a.get("data") for a in answers[1:]] == [None, None, None]
    assert answers[1]["error"].startswith("$.n: 'x' is not of type")
    assert all(a["error"].startswith("The answer is not JSON") for a in answers[2:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ('{"city": "Oslo"', "The arguments are no JSON"),
        ("[1]", "The arguments must be an object"),
        ('{"days": 2}', "$: 'city' is a required property"),
        ('{"city": 5}', "$.city: 5 is not of type 'string'"),
        ('{"city": NaN}', "The arguments are no JSON"),
    ],
    ids=["cut", "list", "missing", "type", "nan"],
)
@pytest.mark.parametrize("wire", ["openai", "openai-chat"])
def test_malformed_arguments_are_recorded_with_their_error(
    bench_for: Callable[..., Bench], wire: str, arguments: str, error: str
) -> None:
    with serving_models(Say(calls=(("c", "weather_read", arguments),))) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
        (call,) = bench.state(thread)["answers"][0]["tool_calls"]
        assert call["error"].startswith(error)
        assert call.get("raw", arguments) == arguments
        (event,) = [e for e in bench.events(thread) if e.kind == "model.tool_called"]
        assert event.data["error"] == call["error"]
        # The same call goes back to the model as it wrote it.
        answer = bench.state(thread)["answers"][0]
        turn = {"role": "assistant", "content": "", "tool_calls": answer["tool_calls"]}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "no"}
        more = bench.start(query={"messages": [{"role": "user", "content": "x"}, turn, result]})
        assert bench.advance(more).status is Status.SUCCEEDED
    again = server.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    # pydantic-ai marks what it cannot read.
    marked = json.dumps({"INVALID_JSON": arguments})
    assert squeezed(again) in (squeezed(arguments), squeezed(marked))
    assert wire == "openai-chat" or again == arguments or json.loads(again) == call["arguments"]


def test_an_unknown_tool_is_an_error_of_the_call(
    bench_for: Callable[..., Bench], wire: str
) -> None:
    with serving_models(Say(calls=(("c", "launch", "{}"),))) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    (call,) = bench.state(thread)["answers"][0]["tool_calls"]
    assert call["error"] == "There is no tool 'launch'."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (Say("slow down", status=429, headers={"Retry-After": "2"}), "model answered 429"),
        (Say("busy", status=503), "model answered 503"),
        (Say("overloaded", status=529), "model answered 529"),
        (Say("cut off", cut=True), "model broke off the connection"),
        (Say("never ends", error={"type": "overloaded_error"}), "model answered 529"),
        (Say("never ends", error={"code": 502, "message": "away"}), "model answered 502"),
    ],
    ids=["429", "503", "529", "cut", "overloaded-amid", "502-amid"],
)
def test_what_passes_is_asked_again_by_the_retry_policy(
    bench_for: Callable[..., Bench], wire: str, say: Say, reason: str
) -> None:
    with serving_models(say, Say("fine")) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        row = bench.advance(thread)
        assert row.status is Status.SLEEPING
        assert row.status_reason.startswith(f"{reason}; attempt 2 of 3")
        if say.status == 429:
            assert row.wake_at is not None
            assert 2 <= (row.wake_at - row.status_since).total_seconds() < 3
    (failed,) = [e for e in bench.events(thread) if e.kind == "model.failed"]
    assert failed.data["retry_in"] >= 0
    assert len(server.got) == 1
    assert bench.intact(thread)


def test_a_time_out_is_asked_again(
    bench_for: Callable[..., Bench], monkeypatch: Any, wire: str
) -> None:
    monkeypatch.setattr("workers.language.endpoints.WireEndpoint.seconds", 0.2)
    monkeypatch.setattr("workers.language.transport.ANSWER_SECONDS", 0.2)  # of other clients
    with serving_models(Say("late", takes=1.0)) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        assert bench.advance(thread).status_reason.startswith("model timed out; attempt 2 of 3")


def test_a_refused_request_fails_with_the_servers_words_and_without_the_key(
    bench_for: Callable[..., Bench], wire: str
) -> None:
    words = f"Incorrect API key provided: {KEY}. Bearer abcdefgh12345678"
    with serving_models(Say(words, status=401)) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "The model's server answered 401: Incorrect API key provided: ***" in row.status_reason
    everything = json.dumps([e.data for e in bench.events(thread)])
    for part in (KEY, "abcdefgh12345678"):
        assert part not in row.status_reason + everything
    assert len(server.got) == 1


def test_a_refusal_is_an_outcome(bench_for: Callable[..., Bench], wire: str) -> None:
    with serving_models(Say("I will not do that.", finish="refusal")) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
        (answer,) = bench.state(thread)["answers"]
        assert (answer["text"], answer["finish_reason"]) == ("I will not do that.", "refusal")
        # Where an agent wants the text alone, a refusal is none: the step fails, and it was paid.
        plain = bench_for(server, wire, bare)
        thread = plain.start()
        row = plain.advance(thread)
    assert row.status is Status.FAILED
    assert row.status_reason.startswith("ask: The model refused: I will not do that.")
    assert row.tokens == 120


def test_what_a_wire_cannot_say_is_refused_before_it_is_asked(
    bench_for: Callable[..., Bench],
) -> None:
    with serving_models(Say("fine")) as server:
        bench = bench_for(server, "anthropic")
        query = {"messages": [{"role": "user", "content": "x"}], "seed": 7}
        row = bench.advance(bench.start(query=query))
    assert row.status is Status.FAILED
    assert "The Messages protocol takes no seed" in row.status_reason
    assert server.got == []


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"[]", b'{"id": 1}', b'{"choices": []}'])
def test_an_answer_of_something_else_fails_the_step(
    bench_for: Callable[..., Bench], wire: str, body: bytes
) -> None:
    with serving_models(Say(body=body)) as server:
        bench = bench_for(server, wire)
        row = bench.advance(bench.start())
    assert row.status is Status.FAILED
    assert "The model's server answered" in row.status_reason


def test_a_model_without_a_price_is_unpriced_and_not_free(
    bench_for: Callable[..., Bench], wire: str
) -> None:
    with serving_models(Say("fine", model="nobody-knows-9")) as server:
        bench = bench_for(server, wire)
        thread = bench.start()
        row = bench.advance(thread)
    usage = bench.state(thread)["answers"][0]["usage"]
    assert usage["unpriced"] is True
    assert "cost" not in usage
    assert (row.tokens, row.cost) == (120, "0")
    assert queries.unpriced_calls(row) == 1
    assert bench.intact(thread)


def test_an_answer_without_usage_is_unpriced(bench_for: Callable[..., Bench]) -> None:
    with serving_models(Say("fine", tokens_in=0, tokens_out=0)) as server:
        bench = bench_for(server, "openai")
        thread = bench.start()
        bench.advance(thread)
    assert bench.state(thread)["answers"][0]["usage"]["unpriced"] is True


@pytest.mark.requirement("E09")
def test_what_it_says_is_shown_as_it_comes_and_is_no_history(
    bench_for: Callable[..., Bench], monkeypatch: Any, wire: str
) -> None:
    monkeypatch.setattr(token_stream, "EVERY_SECONDS", 0.0)
    reports: list[dict[str, Any]] = []

    def listen(progress: dict[str, Any], **_kwargs: Any) -> None:
        reports.append(progress)

    activity_progressed.connect(listen)
    try:
        with serving_models(Say("One two three four.")) as server:
            bench = bench_for(server, wire)
            thread = bench.start()
            assert bench.advance(thread).status is Status.SUCCEEDED
    finally:
        activity_progressed.disconnect(listen)
    texts = [report["stream"] for report in reports]
    parts = ["One ", "One two ", "One two thre", "One two three fo", "One two three four."]
    assert texts == [*parts, ""]
    assert {report["node"] for report in reports} == {"converse"}
    assert bench.state(thread)["answers"][0]["text"] == "One two three four."
    events = json.dumps([e.data for e in bench.events(thread)])
    assert "One two thre" not in events.replace("One two three four.", "")
    (call,) = [a for a in bench.activities(thread) if a.kind == "model"]
    assert call.progress is None


def test_a_long_text_is_shown_ten_times_a_second_at_most(
    bench_for: Callable[..., Bench], wire: str
) -> None:
    reports: list[str] = []
    with serving_models(Say("word " * 400, piece=5)) as server, token_stream.shown(reports.append):
        bench = bench_for(server, wire)
        thread = bench.start()
        began = time.monotonic()
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(reports) <= (time.monotonic() - began) / token_stream.EVERY_SECONDS + 2
