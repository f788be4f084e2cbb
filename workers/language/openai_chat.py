"""The Chat Completions protocol of OpenAI, which most servers of models speak."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..authoring.language_models import Request
from .answer_fold import Fold as AnswerFold
from .answer_parts import Tokens, count, details, texts_of
from .blank_turns import without_blank
from .call_pieces import CallFold

URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
KEY = "OPENAI_API_KEY"
STREAMED = {"stream_options": {"include_usage": True}}
PROTOCOL = "Chat Completions"
# Words of servers for the reasons of the protocol.
FINISHED = {
    "content_filter": "refusal",
    "sensitive": "refusal",
    "safety": "refusal",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_length": "length",
}
FAILED = {"error": 502, "network_error": 502}
# Names of the reasoning in a message, the first that is there holds: some servers send two.
_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")


def headers(key: str) -> dict[str, str]:
    """The headers that carry the key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def body(request: Request, model: str) -> dict[str, Any]:
    """The request in the form of the protocol; what is not set is left out."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["schema"],
            },
        }
        for tool in request.tools
    ]
    form = {"name": "answer", "schema": request.schema, "strict": False}
    more = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "stop": list(request.stop) or None,
        "tools": tools or None,
        "response_format": {"type": "json_schema", "json_schema": form} if request.schema else None,
    }
    return {
        "model": model,
        "messages": [_message(message) for message in without_blank(request.messages)],
        **{name: value for name, value in more.items() if value is not None},
    }


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {
                "name": call["name"],
                "arguments": call.get("raw") or json.dumps(call["arguments"] or {}),
            },
        }
        for call in message.get("tool_calls", ())
    ]
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    return rest | ({"tool_calls": calls, "content": message["content"] or None} if calls else {})


class ChatFold(AnswerFold):
    """A Chat Completion, whole or in chunks, put together."""

    protocol = PROTOCOL

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallFold()

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the whole answer or its next chunk."""
        self.name_answer(event.get("id"), event.get("model"))
        self._add_usage(event)
        choices = event.get("choices")
        if isinstance(choices, Mapping):
            choices = [choices]
        if not choices:
            # The counts come behind the last chunk.
            self.is_complete = self.is_complete or (self.has_content and bool(event.get("usage")))
            return
        for choice in choices:
            self._add_choice(choice)

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        self.has_begun = True
        number = choice.get("index") or 0
        self._add_usage(choice)
        self._add_message(choice, number)
        if reason := str(choice.get("finish_reason") or "").lower():
            if reason in FAILED:
                raise self.failed(choice.get("error"), FAILED[reason])
            if not self.finish or self.finish == "stop":  # of two choices the one with calls
                self.finish = FINISHED.get(reason, reason)
            self.is_complete = True

    def _add_message(self, choice: Mapping[str, Any], number: Any) -> None:
        whole, piece = choice.get("message"), choice.get("delta")
        is_whole = isinstance(whole, Mapping) and not piece
        message: Mapping[str, Any] = (whole if is_whole else piece) or {}
        content = message.get("content")
        if content is None and isinstance(choice.get("text"), str):
            content = choice["text"]
        if is_whole and self.begins(content):
            # Some servers end a stream with the answer once more.
            self.clear()
            self._calls = CallFold()
        if not self.shown:  # of several choices in one piece the first with a text
            for is_reasoning, text in texts_of(content):
                self.add_reasoning(text) if is_reasoning else self.add_text(text)
        self.add_refusal(message.get("refusal"))
        names = (name for name in _REASONING if message.get(name))
        if (name := next(names, None)) is not None:
            self.add_reasoning("".join(text for _, text in texts_of(message[name])))
        else:
            for _, text in texts_of(message.get("reasoning_details") or ()):
                self.add_reasoning(text)
        calls = message.get("tool_calls") or ()
        for part in [calls] if isinstance(calls, Mapping) else calls:
            self.add_size(self._calls.add(part, number))
        if isinstance(message.get("function_call"), Mapping):
            self.add_size(self._calls.add({"index": 0, "function": message["function_call"]}))

    @property
    def has_content(self) -> bool:
        """True once the model wrote something."""
        return super().has_content or bool(self._calls.calls)

    def _add_usage(self, event: Mapping[str, Any]) -> None:
        usage = event.get("usage")
        if usage is None and isinstance(event.get("x_groq"), Mapping):
            usage = event["x_groq"].get("usage")
        if isinstance(usage, Mapping) and usage:
            self.usage = dict(usage)

    def tokens(self) -> Tokens:
        """The counts of the usage; OddUsage."""
        usage = self.usage
        sent = count(usage, "prompt_tokens", "input_tokens")
        written = count(usage, "completion_tokens", "output_tokens")
        read = count(details(usage, "prompt_tokens_details"), "cached_tokens") or count(
            usage, "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"
        )
        reasoning = count(details(usage, "completion_tokens_details"), "reasoning_tokens") or count(
            usage, "reasoning_tokens"
        )
        if reasoning and count(usage, "total_tokens") == sent + written + reasoning:
            written += reasoning  # counted beside the answer
        return Tokens(sent, written, read, 0, reasoning)

    def calls(self) -> list[tuple[str, str, str]]:
        """(id, name, arguments) of each call."""
        return [
            (call.id or f"call_{number}", call.name, call.arguments)
            for number, call in enumerate(self._calls.calls)
        ]

    def request_id(self, headers: Mapping[str, str]) -> str:
        """The id by which the provider knows the request."""
        return headers.get("x-request-id") or self.id


Fold = ChatFold
