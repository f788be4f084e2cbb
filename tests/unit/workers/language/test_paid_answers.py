"""What was paid for is not lost: an answer that cannot be used is an event, its tokens count."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.wires.replay import Recorded, events, replaying, whole
from tests.unit.workers.graphs import conversing
from workers.language import raw_text
from workers.language.openai_chat import ChatFold

from .test_server_answers import FINE, bench_for, chunk

__all__ = ["bench_for"]
pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F01")]
START = {
    "type": "message_start",
    "message": {"id": "m", "model": "claude-x", "usage": {"input_tokens": 70, "output_tokens": 1}},
}
HALF = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half"}}


def answer_event(bench: Any, thread: Any) -> dict[str, Any]:
    (event,) = [e for e in bench.events(thread) if e.kind == "answer.kept"]
    return dict(event.data)


def test_an_answer_that_broke_off_is_kept_and_its_tokens_count(bench_for: Any) -> None:
    with replaying(events(START, HALF, end=""), FINE) as server:
        bench = bench_for(server, wire="anthropic")
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.SLEEPING
    assert "attempt 2 of 3" in row.status_reason  # said, not silent
    data = answer_event(bench, thread)
    assert (data["text"], data["node"]) == ("Half", "converse")
    assert "content_block_delta" in data["raw"]
    assert data["size"] == len(server_bytes(START, HALF))
    assert row.tokens == 71
    (failed,) = [e for e in bench.events(thread) if e.kind == "model.failed"]
    assert failed.data["usage"]["unpriced"] is True
    assert failed.data["usage"]["model"] == "claude-x"
    assert "retry_in" in failed.data
    assert bench.intact(thread)


def server_bytes(*values: Any) -> bytes:
    return events(*values, end="").body


UNREADABLE = [
    whole({"id": 1, "usage": {"prompt_tokens": 40, "completion_tokens": 2}}),
    whole({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 2}}),
    whole({"choices": [[]], "usage": {"prompt_tokens": 40, "completion_tokens": 2}}),
]


@pytest.mark.parametrize("answer", UNREADABLE, ids=["no-choices", "empty", "lists"])
def test_an_unreadable_answer_is_kept_and_not_asked_again(bench_for: Any, answer: Recorded) -> None:
    with replaying(answer, FINE) as server:
        bench = bench_for(server)
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert len(server.got) == 1
    assert json.loads(answer_event(bench, thread)["raw"]) == json.loads(answer.body)
    assert row.tokens == 42


def test_a_deep_answer_is_kept(bench_for: Any) -> None:
    body = b'{"choices": ' + b"[" * 60_000 + b"]" * 60_000 + b"}"
    with replaying(Recorded(body, is_stream=False)) as server:
        bench = bench_for(server)
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "answered no message" in row.status_reason
    data = answer_event(bench, thread)
    assert data["size"] == len(body)
    assert len(data["raw"]) < raw_text.HEAD_BYTES + raw_text.TAIL_BYTES + 100


@pytest.mark.parametrize("how", ["pieces", "whole", "line", "noise"])
def test_the_size_of_an_answer_is_bounded(bench_for: Any, settings: Any, how: str) -> None:
    settings.GATEPOST_MODEL_ANSWER_BYTES = 1_000
    answer = {
        "pieces": events(*[chunk({"content": "ä" * 100})] * 6, chunk({}, "stop")),
        "whole": whole({"choices": [{"message": {"content": "x" * 1_001}}]}),
        "line": Recorded(b"data: " + b"x" * 10_000),
        "noise": Recorded(b": ping\n\n" * 20_000),
    }[how]
    with replaying(answer, FINE) as server:
        bench = bench_for(server)
        thread = bench.start()
        row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "larger than 1,000 bytes" in row.status_reason
    assert "GATEPOST_MODEL_ANSWER_BYTES" in row.status_reason
    assert len(server.got) == 1
    assert answer_event(bench, thread)["size"] > 1_000


def test_a_message_of_the_bound_is_taken(bench_for: Any, settings: Any) -> None:
    settings.GATEPOST_MODEL_ANSWER_BYTES = 1_000
    with replaying(events(chunk({"content": "ä" * 500}), chunk({}, "stop"))) as server:
        bench = bench_for(server)
        assert bench.advance(bench.start()).status is Status.SUCCEEDED


def seconds(pieces: int) -> float:
    """The time to fold so many pieces of text and of one call's arguments."""
    fold = ChatFold()
    text = chunk({"content": "some words of text, "})
    part = {"function": {"name": "find", "arguments": '"some words", '}}
    began = time.process_time()
    for _ in range(pieces):
        fold.take(text)
        fold.take(chunk({"tool_calls": [part]}))
    fold.reply({})
    return time.process_time() - began


@pytest.mark.slow
def test_pieces_are_joined_in_linear_time() -> None:
    small, large = (min(seconds(pieces) for _ in range(3)) for pieces in (5_000, 40_000))
    assert large / small < 24  # eight times the pieces; quadratic time would be 64


def test_characters_that_no_record_holds_are_replaced_and_said_so(bench_for: Any) -> None:
    body = b'{"choices": [{"message": {"content": "a\\u0000b\\ud83dc"}, "finish_reason": "stop"}]}'
    with replaying(Recorded(body, is_stream=False)) as server:
        bench = bench_for(server, conversing)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
    (answer,) = bench.state(thread)["answers"]
    assert answer["text"] == "a\ufffdb\ufffdc"
    assert "2 characters" in answer_event(bench, thread)["reason"]


@pytest.mark.parametrize("count", [-1, 10**12, "many", 1.5, [], True])
def test_odd_usage_is_unknown_usage(bench_for: Any, count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 3}
    choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
    with replaying(whole({"choices": [choice], "usage": usage})) as server:
        bench = bench_for(server)
        thread = bench.start()
        row = bench.advance(thread)
    assert (row.status, row.tokens) == (Status.SUCCEEDED, 0)
    assert bench.state(thread)["answers"][0]["usage"]["unpriced"] is True


def test_a_key_in_an_answer_is_masked(bench_for: Any, settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("MODEL_TEST_KEY", "a-key-of-this-test")
    with replaying(whole({"echo": "a-key-of-this-test"})) as server:
        bench = bench_for(server)
        settings.GATEPOST_MODEL = f"openai:some-model@{server.url}#MODEL_TEST_KEY"
        thread = bench.start()
        bench.advance(thread)
    assert "a-key-of-this-test" not in json.dumps([e.data for e in bench.events(thread)])
