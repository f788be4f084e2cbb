"""The Messages protocol of Anthropic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..authoring.errors import StepFailed
from ..authoring.language_models import Reply, Request
from ..authoring.messages import tool_call
from .failures import BadAnswer, failure_of

URL = "https://api.anthropic.com/v1"
PATH = "/messages"
KEY = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
MAX_TOKENS = 4096  # the protocol demands a number
STREAMED: dict[str, Any] = {}
FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
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
    system = "\n\n".join(m["content"] for m in request.messages if m["role"] == "system")
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
    """Messages as turns: results of tools are the user's, and those of one answer one turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not (turns and turns[-1]["role"] == role):
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += _blocks(message)
    return turns


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        identity, text = message["tool_call_id"], message["content"]
        return [{"type": "tool_result", "tool_use_id": identity, "content": text}]
    blocks: list[dict[str, Any]] = []
    if message["content"]:  # the protocol refuses empty texts
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls", ()):
        arguments = call["arguments"] or {}
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments}
        )
    return blocks


def reply(value: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Reply, int]:
    """(the reply without its price, tokens that the cache stored) of an answer; BadAnswer.

    The protocol counts tokens read from and written to the cache beside the others.
    """
    try:
        blocks = value["content"]
        usage = value.get("usage") or {}
        read = usage.get("cache_read_input_tokens") or 0
        written = usage.get("cache_creation_input_tokens") or 0
        reason = value.get("stop_reason") or ""
        answer = Reply(
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            model=value.get("model") or "",
            tokens_in=usage.get("input_tokens", 0) + read + written,
            tokens_out=usage.get("output_tokens", 0),
            tool_calls=tuple(
                tool_call(
                    block["id"],
                    block["name"],
                    block.get("input_text") or json.dumps(block["input"]),
                )
                for block in blocks
                if block["type"] == "tool_use"
            ),
            finish_reason=FINISHED.get(reason, reason),
            tokens_cached=read,
            request_id=headers.get("request-id") or value.get("id") or "",
            reasoning="\n\n".join(b["thinking"] for b in blocks if b["type"] == "thinking"),
        )
    except (KeyError, TypeError, AttributeError):
        raise BadAnswer(
            "The model's server answered no message of the Messages protocol."
        ) from None
    return answer, written


_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class MessageFold:
    """The events of a message, put together."""

    def __init__(self) -> None:
        self.text = ""
        self.is_complete = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = event.get("type")
        if kind == "error":
            raise failure_of(event.get("error"))
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._add_piece(self._blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            self._message |= event["delta"]
            usage = {**(self._message.get("usage") or {}), **(event.get("usage") or {})}
            self._message["usage"] = usage
        elif kind == "message_stop":
            self.is_complete = True

    def _add_piece(self, block: dict[str, Any], delta: Mapping[str, Any]) -> None:
        name = _PIECES.get(delta["type"])
        if name is None:
            return  # such as a signature
        into = "input_text" if name == "partial_json" else name
        block[into] = block.get(into, "") + delta[name]
        if name == "text":
            self.text += delta[name]

    @property
    def whole(self) -> dict[str, Any]:
        """The message."""
        return {**self._message, "content": [self._blocks[n] for n in sorted(self._blocks)]}


Fold = MessageFold
