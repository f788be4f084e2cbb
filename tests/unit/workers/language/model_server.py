"""A server of models on this machine: both wires, answers by script, and all that it got."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.unit.wires.replay import serving

from . import responses_wire


@dataclass(frozen=True)
class Say:
    """One answer: as a model means it; the server writes it in the words of the wire.

    `calls` are (id, tool, arguments as the model wrote them). `cut` breaks the connection off in
    the middle of the body; `body` is sent as it stands. Whoever asks for a stream gets the text in
    pieces of so many characters, with `pause` between them; `error` comes in place of the end.
    """

    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    reasoning: str = ""
    finish: str = ""
    model: str = ""
    tokens_in: int = 100
    tokens_out: int = 20
    cached: int = 0
    written: int = 0
    reasoned: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: bool = False
    takes: float = 0.0
    piece: int = 4
    pause: float = 0.0
    error: dict[str, Any] | None = None

    def pieces(self, text: str) -> list[str]:
        return [text[at : at + self.piece] for at in range(0, len(text), self.piece)]


@dataclass
class Got:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float


@dataclass
class ModelServer:
    """Where it listens, what it will say (the last for ever), and what it got."""

    url: str = ""
    script: list[Say] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    held: responses_wire.Held = field(default_factory=responses_wire.Held)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Got) -> Say:
        with self._lock:
            self.got.append(request)
            return self.script[min(len(self.got), len(self.script)) - 1]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.got]


def in_chat_completions(say: Say, body: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, name, arguments in say.calls
    ]
    refused = say.finish == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else say.text,
        "refusal": say.text if refused else None,
        "annotations": [],
    }
    if calls:
        message["tool_calls"] = calls
    if say.reasoning:
        message["reasoning_content"] = say.reasoning
    finish = "stop" if refused else say.finish or ("tool_calls" if calls else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": say.model or body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": say.tokens_in,
            "completion_tokens": say.tokens_out,
            "total_tokens": say.tokens_in + say.tokens_out,
            "prompt_tokens_details": {"cached_tokens": say.cached},
            "completion_tokens_details": {"reasoning_tokens": say.reasoned},
        },
    }


def in_messages(say: Say, body: dict[str, Any]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if say.reasoning:
        blocks.append({"type": "thinking", "thinking": say.reasoning, "signature": "s"})
    if say.text:
        blocks.append({"type": "text", "text": say.text, "citations": None})
    for i, name, arguments in say.calls:
        blocks.append(
            {
                "type": "tool_use",
                "id": i,
                "name": name,
                "input": json.loads(arguments),
                "caller": {"type": "direct"},
            }
        )
    finish = {"length": "max_tokens"}.get(say.finish, say.finish)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": say.model or body["model"],
        "content": blocks,
        "stop_reason": finish or ("tool_use" if say.calls else "end_turn"),
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": {
            "input_tokens": say.tokens_in - say.cached - say.written,
            "output_tokens": say.tokens_out,
            "cache_read_input_tokens": say.cached,
            "cache_creation_input_tokens": say.written,
            "cache_creation": None,
            "inference_geo": None,
            "output_tokens_details": None,
            "server_tool_use": None,
            "service_tier": None,
        },
    }


def chunks_of_chat(say: Say, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The completion as its chunks; usage in one of its own, where it was asked for."""
    whole = in_chat_completions(say, body)
    message, usage = whole["choices"][0]["message"], whole.pop("usage")
    about = {k: v for k, v in whole.items() if k != "choices"} | {"object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "content", "refusal"):
        deltas += [{name: piece} for piece in say.pieces(message.get(name) or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        head = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **head}]})
        for piece in say.pieces(call["function"]["arguments"]):
            function = {"arguments": piece}
            deltas.append({"tool_calls": [{"index": index, "function": function}]})
    for delta in deltas:
        yield {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if say.error:
        yield {"error": say.error}
        return
    finish = whole["choices"][0]["finish_reason"]
    yield {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    if body.get("stream_options", {}).get("include_usage"):
        yield {**about, "choices": [], "usage": usage}


def events_of_message(say: Say, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as its events."""
    whole = in_messages(say, body)
    blocks, usage = whole.pop("content"), whole.pop("usage")
    start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(blocks):
        kind = block["type"]
        name, delta = {
            "text": ("text", "text_delta"),
            "thinking": ("thinking", "thinking_delta"),
            "tool_use": ("partial_json", "input_json_delta"),
        }[kind]
        text = json.dumps(block["input"]) if kind == "tool_use" else block[name]
        empty = {**block, **({"input": {}} if kind == "tool_use" else {name: ""})}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for piece in say.pieces(text):
            piece_delta = {"type": delta, name: piece}
            yield {"type": "content_block_delta", "index": index, "delta": piece_delta}
        yield {"type": "content_block_stop", "index": index}
    if say.error:
        yield {"type": "error", "error": say.error}
        return
    ends = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    tokens = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": ends, "usage": tokens}
    yield {"type": "message_stop"}


WIRES = {"/v1/chat/completions": in_chat_completions, "/v1/messages": in_messages}
REQUIRED = {
    responses_wire.PATH: responses_wire.REQUIRED,
    "/v1/chat/completions": ("model", "messages"),
    "/v1/messages": ("model", "messages", "max_tokens"),
}
STREAMS = {"/v1/chat/completions": chunks_of_chat, "/v1/messages": events_of_message}


@contextmanager
def serving_models(*script: Say) -> Iterator[ModelServer]:
    """A server on a port of its own."""
    models = ModelServer(script=list(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            say = models.answer(Got(self.path, headers, body, time.monotonic()))
            time.sleep(say.takes)
            missing = [name for name in REQUIRED[self.path] if name not in body]
            if missing:
                say = Say(f"{missing[0]} is required", status=400)
            if self.path == responses_wire.PATH:
                self._respond(say, body)
            elif say.body is not None:
                self._send(say, say.body)
            elif say.status != 200:
                error = {"type": "invalid_request_error", "message": say.text}
                whole = {"type": "error", "error": error, "request_id": "req"}
                self._send(say, json.dumps(whole).encode())
            elif body.get("stream"):
                self._stream(say, list(STREAMS[self.path](say, body)))
            else:
                self._send(say, json.dumps(WIRES[self.path](say, body)).encode())

        def _respond(self, say: Say, body: dict[str, Any]) -> None:
            error = models.held.refusal(body)
            if error is not None:
                self._send(replace(say, status=400), json.dumps({"error": error}).encode())
                return
            whole = responses_wire.in_responses(say, body, len(models.got))
            models.held.hold(body, whole)
            if body.get("stream"):
                self._stream(say, list(responses_wire.events_of_response(say, whole)))
            else:
                self._send(say, json.dumps(whole).encode())

        def _send(self, say: Say, content: bytes) -> None:
            try:
                self.send_response(say.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("request-id", f"req-{len(models.got)}")
                self.send_header("x-request-id", f"req-{len(models.got)}")
                for name, value in say.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if say.cut else content)
            except (BrokenPipeError, ConnectionResetError):
                pass  # who asked has gone
            if say.cut:
                self.close_connection = True

        def _stream(self, say: Say, events: list[dict[str, Any]]) -> None:
            number = f"req-{len(models.got)}"
            try:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("request-id", number)
                self.send_header("x-request-id", number)
                self.send_header("Connection", "close")
                self.end_headers()
                for event in events[: len(events) // 2] if say.cut else events:
                    name = f"event: {event['type']}\n" if "type" in event else ""
                    self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
                    self.wfile.flush()
                    time.sleep(say.pause)
                if self.path.endswith("completions") and not say.cut:
                    self.wfile.write(b"data: [DONE]\n\n")
            except (BrokenPipeError, ConnectionResetError):
                pass  # who asked has gone
            self.close_connection = True

        def log_message(self, *_args: Any) -> None:
            """What it got is kept instead."""

    with serving(Handler) as models.url:
        yield models


def texts(items: Sequence[Any]) -> list[str]:
    """The texts of Messages blocks."""
    return [block["text"] for block in items if block["type"] == "text"]
