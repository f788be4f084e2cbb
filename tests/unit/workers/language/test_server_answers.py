"""Answers as servers really send them, where they differ from the protocols' pages.

The sources stand with the recorded shapes (tests/unit/workers/language/shapes); here a thread works
with such a server to its end.
"""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from checkpoints.states import Status
from gatepost import Graph, Harness, Respond, react
from tests.unit.wires.replay import Recorded, Replay, events, replaying, whole
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import bare, conversing
from workers.language import refused_parameters
from workers.language.configuration import model_of

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F01")]
USAGE = {"prompt_tokens": 10, "completion_tokens": 3}


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: Any) -> None:
    monkeypatch.setattr(refused_parameters, "refusals", {})


@pytest.fixture
def bench_for(settings: Any) -> Callable[..., Bench]:
    """A bench whose agents ask a replaying server."""

    def make(server: Replay, graph: Any = conversing, wire: str = "openai") -> Bench:
        settings.GATEPOST_MODEL = f"{wire}:some-model@{server.url}"
        return bench_of(graph)

    return make


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **more}


def piece(
    index: Any = ..., identity: Any = None, name: Any = None, arguments: Any = None
) -> dict[str, Any]:
    values = {"name": name, "arguments": arguments}
    call: dict[str, Any] = {"function": {k: v for k, v in values.items() if v is not None}}
    if index is not ...:
        call["index"] = index
    return call | ({"id": identity, "type": "function"} if identity else {})


def calls(*parts: dict[str, Any], finish: str = "tool_calls") -> Recorded:
    """A stream with these pieces of calls."""
    return events(
        chunk({"role": "assistant", "content": None}),
        *(chunk({"tool_calls": [part]}) for part in parts),
        chunk({}, finish),
        {**chunk(), "choices": [], "usage": USAGE},
    )


FINE = events(chunk({"content": "All well."}), chunk({}, "stop"))
ULM, BONN = '{"city": "Ulm"}', '{"city": "Bonn"}'


def find_city(city: str) -> dict[str, Any]:
    """Find a city."""
    return {"city": city}


def answered(server: Replay, graph: Graph, wire: str = "openai") -> Any:
    model = model_of(f"{wire}:some-model@{server.url}")
    return Harness(graph).play({"goal": "Look at the cities."}, model=model)


def called(server: Replay) -> list[tuple[str, str]]:
    """(id, arguments) of the calls that the next request repeats."""
    turn = next(m for m in server.got[1]["messages"] if m["role"] == "assistant")
    return [
        (c["id"], json.dumps(json.loads(c["function"]["arguments"]))) for c in turn["tool_calls"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            [piece(0, "a1", "find_city", ULM), piece(0, "b2", "find_city", BONN)],
            [("a1", ULM), ("b2", BONN)],
            id="index-0-for-each",
        ),
        pytest.param(
            [piece(0, None, "find_city", ULM), piece(0, None, "find_city", BONN)],
            [("call_0", ULM), ("call_1", BONN)],
            id="index-0-for-each-and-no-id",
        ),
        pytest.param(
            [
                piece(0, "a1", "find_city", ""),
                piece(0, None, None, '{"city"'),
                piece(0, None, None, ': "Ulm"}'),
                piece(0, "b2", "find_city", '{"city"'),
                piece(0, None, None, ': "Bonn"}'),
            ],
            [("a1", ULM), ("b2", BONN)],
            id="index-0-for-each-in-pieces",
        ),
        pytest.param(
            [
                piece(..., "a1", "find_city", ""),
                piece(..., None, None, '{"city"'),
                piece(..., None, None, ': "Ulm"}'),
            ],
            [("a1", ULM)],
            id="pieces-without-index",
        ),
        pytest.param(
            [piece(..., "a1", "find_city", ULM), piece(..., "b2", "find_city", BONN)],
            [("a1", ULM), ("b2", BONN)],
            id="calls-without-index",
        ),
        pytest.param(
            [
                piece(0, "a1", "find_city", '{"city"'),
                piece(0, "a1", "find_city", ': "Ulm"}'),
                piece(1, "b2", "find_city", '{"city"'),
                piece(1, "b2", "find_city", ': "Bonn"}'),
            ],
            [("a1", ULM), ("b2", BONN)],
            id="id-and-name-in-each-piece",
        ),
        pytest.param(
            [
                piece(0, "a1", "find_city", '{"city": "'),
                piece(0, "x7", None, 'Ul"'[:2]),
                piece(0, "y8", "", 'm"}'),
            ],
            [("a1", ULM)],
            id="another-id-in-each-piece",
        ),
        pytest.param(
            [piece(0, "a1", "find_", ""), piece(0, None, "city", ""), piece(0, None, None, ULM)],
            [("a1", ULM)],
            id="name-in-pieces",
        ),
        pytest.param(
            [piece(0, "a1", "find_city", {"city": "Ulm"})], [("a1", ULM)], id="arguments-as-object"
        ),
    ],
)
def test_calls_are_joined_as_the_model_meant_them(
    parts: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    with replaying(calls(*parts), FINE) as server:
        thread = answered(server, react("cities", tools=[find_city]))
        assert thread.status == "succeeded", thread.reason
        assert called(server) == expected
    results = [m["content"] for m in server.got[1]["messages"] if m["role"] == "tool"]
    assert [json.loads(text) for text in results] == [json.loads(a) for _, a in expected]


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_line_ends_of_unicode_belong_to_the_text(bench_for: Callable[..., Bench], end: str) -> None:
    text = f"First line.{end}Second line."
    with replaying(events(chunk({"content": text}), chunk({}, "stop"))) as server:
        bench = bench_for(server, bare)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["said"] == text
    assert len(server.got) == 1


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "All "},
    {"type": "reference", "reference_ids": [1]},
    {"type": "text", "text": "well."},
]


@pytest.mark.parametrize("how", ["stream", "whole"])
def test_content_may_be_a_list_of_parts(bench_for: Callable[..., Bench], how: str) -> None:
    answer = (
        events(*(chunk({"content": [part]}) for part in PARTS), chunk({}, "stop"))
        if how == "stream"
        else whole({"choices": [{"message": {"content": PARTS}, "finish_reason": "stop"}]})
    )
    with replaying(answer) as server:
        bench = bench_for(server)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    (result,) = bench.state(thread)["answers"]
    assert (result["text"], result["reasoning"]) == ("All well.", "hm")


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (
            whole({"error": {"message": "Provider returned error", "code": 502}, "user_id": "u"}),
            "model answered 502",
            "Provider returned error",
        ),
        (
            whole(
                {
                    "error": {
                        "message": "Provider returned error",
                        "code": 429,
                        "metadata": {"raw": '{"error": {"message": "Queue is full"}}'},
                    }
                }
            ),
            "model answered 429",
            "Provider returned error: Queue is full",
        ),
        (events({"error": "The model is overloaded"}), "model answered 500", "is overloaded"),
        (whole({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}), "429", "rate"),
        (Recorded(b""), "model answered 502", "an empty body"),
        (
            Recorded(b"<html><title>Sign in</title></html>", headers={"content-type": "text/html"}),
            "model answered 502",
            "Sign in",
        ),
    ],
    ids=["router", "router-quotes", "stream", "minimax", "empty", "portal"],
)
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_an_error_under_status_200_is_asked_again_and_its_words_are_kept(
    bench_for: Callable[..., Bench], wire: str, answer: Recorded, reason: str, words: str
) -> None:
    with replaying(answer, FINE) as server:
        bench = bench_for(server, wire=wire)
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.SLEEPING, row.status_reason
    assert reason in row.status_reason
    (failed,) = [e for e in bench.events(thread) if e.kind == "model.failed"]
    assert words in failed.data["error"]
    assert "retry_in" in failed.data


@pytest.mark.parametrize("form", ["seconds", "date", "body"])
def test_retry_after_is_seconds_a_date_or_in_the_body(
    bench_for: Callable[..., Bench], form: str
) -> None:
    error: dict[str, Any] = {"code": 429, "message": "slow down"}
    headers = {"seconds": "3", "date": email.utils.formatdate(time.time() + 4, usegmt=True)}
    if form == "body":
        error["details"] = [{"@type": "google.rpc.RetryInfo", "retryDelay": "3s"}]
    more = {"Retry_After": headers[form]} if form in headers else {}
    with replaying(whole([{"error": error}], 429, **more)) as server:
        bench = bench_for(server)
        row = bench.advance(bench.start())
    assert row.status is Status.SLEEPING
    assert row.wake_at is not None
    assert 2 <= (row.wake_at - row.status_since).total_seconds() < 5


def refusing(name: str, message: str) -> Recorded:
    error = {"message": message, "param": name, "type": "invalid_request_error"}
    return whole({"error": error}, 400)


@pytest.mark.parametrize(
    ("wire", "name", "message", "sent_as"),
    [
        (
            "openai",
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
        ),
        (
            "openai",
            "temperature",
            "Unsupported value: 'temperature' does not support 0.2 with this model. "
            "Only the default (1) value is supported.",
            None,
        ),
        ("anthropic", "temperature", "`temperature` is deprecated for this model.", None),
    ],
    ids=["max-tokens", "temperature", "claude"],
)
def test_a_parameter_that_a_model_refuses_is_changed_once_and_on_record(
    bench_for: Callable[..., Bench], wire: str, name: str, message: str, sent_as: str | None
) -> None:
    fine = FINE if wire == "openai" else whole({"content": "All well.", "stop_reason": "end_turn"})
    query = {
        "messages": [{"role": "user", "content": "x"}],
        "temperature": 0.2,
        "max_tokens": 500,
    }
    with replaying(refusing(name, message), fine) as server:
        bench = bench_for(server, wire=wire)
        for _ in range(2):
            thread = bench.start(query=query)
            row = bench.advance(thread)
            assert row.status is Status.SUCCEEDED, row.status_reason
            (event,) = [e for e in bench.events(thread) if e.kind == "parameter.refused"]
            assert (event.data["parameter"], event.data["value"]) == (name, query[name])
            assert event.data.get("sent_as") == sent_as
            assert message[:20] in event.data["reason"]
    first, second, third = server.got  # the next call knows what the model refuses
    assert name in first
    assert name not in second
    assert name not in third
    assert sent_as is None or second[sent_as] == query[name]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "temperature must be between 0 and 2"),
        (401, "temperature is not supported"),
        (400, "Unsupported parameter: 'stop' is not supported with this model."),
    ],
)
def test_other_refusals_are_not_asked_again(
    bench_for: Callable[..., Bench], status: int, message: str
) -> None:
    with replaying(whole({"error": {"message": message}}, status), FINE) as server:
        bench = bench_for(server)
        query = {"messages": [{"role": "user", "content": "x"}], "temperature": 3, "stop": ["X"]}
        row = bench.advance(bench.start(query=query))
    assert row.status is Status.FAILED
    assert message in row.status_reason
    assert len(server.got) == 1


BLANKS = ["", " ", "\n"]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_turn_of_a_model_is_not_sent(
    bench_for: Callable[..., Bench], wire: str, blank: str
) -> None:
    turns = [
        {"role": "system", "content": blank},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": blank},
        {"role": "user", "content": "And now?"},
    ]
    fine = FINE if wire == "openai" else whole({"content": "All well.", "stop_reason": "end_turn"})
    with replaying(fine) as server:
        bench = bench_for(server, wire=wire)
        assert bench.advance(bench.start(query={"messages": turns})).status is Status.SUCCEEDED
    sent = [m for m in server.got[0]["messages"] if m["role"] != "system"]
    assert [m["role"] for m in sent] == ["user"]
    texts = sent[0]["content"]
    if wire == "anthropic":
        texts = "\n\n".join(block["text"] for block in texts)
        assert "system" not in server.got[0]
    assert texts == "Hello\n\nAnd now?"


def test_a_conversation_goes_on_after_an_empty_answer_of_claude() -> None:
    start = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    empty = events(start, end, {"type": "message_stop"}, end="")
    fine = whole({"content": [{"type": "text", "text": "Well."}], "stop_reason": "end_turn"})
    with replaying(empty, fine) as server:
        thread = answered(server, react("chat", chat=True, tools=[find_city]), "anthropic")
        assert thread.status == "waiting", thread.reason
        thread.decide(Respond("And now?"))
        assert thread.status == "waiting", thread.reason
    assert [m["role"] for m in server.got[1]["messages"]] == ["user"]


@pytest.mark.parametrize(
    "answer",
    [
        events(chunk({"content": "All well."})),
        events(chunk({"content": "All well."}), {"choices": [], "usage": USAGE}, end=""),
        Recorded(
            events(chunk({"content": "All well."}), chunk({}, "stop"), end="").body, is_cut=True
        ),
        events(chunk({"content": "All well."}, "stop"), end=""),
    ],
    ids=["done", "usage", "cut-behind-the-end", "finish"],
)
def test_an_answer_that_the_server_ended_is_one(
    bench_for: Callable[..., Bench], answer: Recorded
) -> None:
    with replaying(answer) as server:
        bench = bench_for(server, bare)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["said"] == "All well."
    assert len(server.got) == 1
