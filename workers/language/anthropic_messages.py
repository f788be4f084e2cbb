"""The Messages protocol of Anthropic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..authoring.errors import StepFailed
from ..authoring.language_models import Request
from .answer_fold import Fold as AnswerFold
from .answer_parts import OddUsage, Tokens, count, texts_of
from .blank_turns import EMPTY

URL = "https://api.anthropic.com/v1"
PATH = "/messages"
KEY = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
MAX_TOKENS = 4096  # the protocol demands a number
STREAMED: dict[str, Any] = {}
PROTOCOL = "the Messages protocol"
FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


def headers(key: str) -> dict[str, str]:
    """The headers of the protocol, with the key where there is one."""
    return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def body(request: Request, model: str) -> dict[str, Any]:
    """The request in the form of the protocol; StepFailed for what it cannot say."""
    if request.seed is not None:
        raise StepFailed("The Messages protocol takes no seed: leave it out for this model.")
    tools = [
        {"name": t["name"], "description": t["description"], "input_schema": t["schema"]}
        for t in request.tools
    ]
    form = {"format": {"type": "json_schema", "schema": request.schema}}
    systems = (m["content"] for m in request.messages if m["role"] == "system")
    system = "\n\n".join(text for text in systems if text.strip())
    more = {
        "system": system or None,
        "temperature": request.temperature,
        "stop_sequences": list(request.stop) or None,
        "tools": tools or None,
        "output_config": form if request.schema else None,
    }
    return {
        "model": model,
        "max_tokens": request.max_tokens or MAX_TOKENS,
        "messages": list(_turns(m for m in request.messages if m["role"] != "system")),
        **{name: value for name, value in more.items() if value is not None},
    }


def _turns(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages as turns: results of tools are the user's, and those of one answer one turn.

    The protocol refuses turns without content, which a model may have answered: they are left out.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message)
        if not blocks:
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if not (turns and turns[-1]["role"] == role):
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += blocks
    return turns or [{"role": "user", "content": [{"type": "text", "text": EMPTY}]}]


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        identity, text = message["tool_call_id"], message["content"]
        return [{"type": "tool_result", "tool_use_id": identity, "content": text}]
    blocks: list[dict[str, Any]] = []
    if message["content"].strip():  # the protocol refuses blank texts
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls", ()):
        arguments = call["arguments"] or {}
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments}
        )
    return blocks


_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class MessageFold(AnswerFold):
    """A message, whole or in events, put together."""

    protocol = PROTOCOL

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_ToolUse] = []
        self._at: dict[Any, _ToolUse] = {}  # the open blocks that are calls

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the whole message or its next event."""
        kind = event.get("type")
        if kind == "message_start":
            self._add_message(event.get("message") or {})
        elif kind == "content_block_start":
            self.has_begun = True
            self._add_block(event.get("content_block") or {}, event.get("index"))
        elif kind == "content_block_delta":
            self.has_begun = True
            self._add_piece(event.get("delta") or {}, event.get("index"))
        elif kind == "message_delta":
            delta = event.get("delta") or {}
            self._end(delta)
            self._add_usage(event.get("usage") or delta.get("usage"))
        elif kind == "message_stop":
            self.is_complete = self.has_begun
        elif kind == "message" or (kind is None and "content" in event):
            self._add_message(event)
            self.is_complete = True

    def _add_message(self, message: Mapping[str, Any]) -> None:
        self.has_begun = True
        self.name_answer(message.get("id"), message.get("model"))
        self._add_usage(message.get("usage"))
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            self._add_block(block if isinstance(block, Mapping) else {"text": block or ""}, None)
        self._end(message)

    def _end(self, delta: Mapping[str, Any]) -> None:
        if reason := delta.get("stop_reason"):
            self.finish = FINISHED.get(reason, str(reason))
            self.is_complete = True

    def _add_block(self, block: Mapping[str, Any], index: Any) -> None:
        self._at.pop(index, None)
        if block.get("type") == "tool_use":
            call = _ToolUse(str(block.get("id") or ""), str(block.get("name") or ""))
            call.start = block.get("input")
            self._calls.append(call)
            self._at[index] = call
            return
        if block.get("type") == "thinking" and self.reasoning:
            self.add_reasoning("\n\n")
        for is_reasoning, text in texts_of(block):
            self.add_reasoning(text) if is_reasoning else self.add_text(text)

    def _add_piece(self, delta: Mapping[str, Any], index: Any) -> None:
        kind = str(delta.get("type") or "text_delta")  # some servers leave it out
        name = _PIECES.get(kind)
        text = delta.get(name) if name else None
        if not isinstance(text, str):
            return  # such as a signature
        if name == "text":
            self.add_text(text)
        elif name == "thinking":
            self.add_reasoning(text)
        elif call := self._at.get(index) or next(reversed(self._calls), None):
            call.pieces.append(text)
            self.add_size(text)

    @property
    def has_content(self) -> bool:
        """True once the model wrote something."""
        return super().has_content or bool(self._calls)

    def _add_usage(self, usage: Any) -> None:
        """The counts grow over the events; some servers repeat them as 0 or null at the end."""
        for name in _COUNTS:
            new, known = (usage or {}).get(name), self.usage.get(name)
            try:
                if known is not None and count({name: new}, name) <= count({name: known}, name):
                    continue
            except OddUsage:
                pass  # to be seen when it is read
            if new is not None:
                self.usage[name] = new

    def tokens(self) -> Tokens:
        """The counts of the usage; the protocol counts those of the cache beside the others."""
        sent, written, read, stored = (count(self.usage, name) for name in _COUNTS)
        return Tokens(sent + read + stored, written, read, stored)

    def calls(self) -> list[tuple[str, str, str]]:
        """(id, name, arguments) of each call."""
        return [
            (call.id or f"toolu_{number}", call.name, call.arguments)
            for number, call in enumerate(self._calls)
        ]

    def request_id(self, headers: Mapping[str, str]) -> str:
        """The id by which the provider knows the request."""
        return headers.get("request-id") or self.id


@dataclass(slots=True)
class _ToolUse:
    """A call; `start` is its input where it came with the block."""

    id: str
    name: str
    start: Any = None
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        if text := "".join(self.pieces):
            return text
        return self.start if isinstance(self.start, str) else json.dumps(self.start or {})


Fold = MessageFold
