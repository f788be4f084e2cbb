"""The Chat Completions protocol of OpenAI, which most servers of models speak."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..authoring.language_models import Reply, Request
from ..authoring.messages import tool_call
from .failures import BadAnswer, failure_of

URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
KEY = "OPENAI_API_KEY"
STREAMED = {"stream_options": {"include_usage": True}}
FINISHED = {"content_filter": "refusal", "function_call": "tool_calls"}


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
        "messages": [_message(message) for message in request.messages],
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


def reply(value: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Reply, int]:
    """(the reply without its price, tokens that the cache stored) of an answer; BadAnswer."""
    try:
        choice = value["choices"][0]
        message = choice["message"]
        calls = tuple(
            tool_call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        )
        refusal = message.get("refusal")
        reason = choice.get("finish_reason") or ""
        usage = value.get("usage") or {}
        answer = Reply(
            refusal or message.get("content") or "",
            model=value.get("model") or "",
            tokens_in=usage.get("prompt_tokens", 0),
            tokens_out=usage.get("completion_tokens", 0),
            tool_calls=calls,
            finish_reason="refusal" if refusal else FINISHED.get(reason, reason),
            tokens_cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
            tokens_reasoning=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
            or 0,
            request_id=headers.get("x-request-id") or value.get("id") or "",
            reasoning=message.get("reasoning_content") or message.get("reasoning") or "",
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise BadAnswer("The model's server answered no message of Chat Completions.") from None
    return answer, 0


class ChatFold:
    """The chunks of a Chat Completion, put together."""

    def __init__(self) -> None:
        self.text = ""
        self.is_complete = False
        self._about: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish = ""

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next chunk."""
        if event.get("error"):
            raise failure_of(event["error"])
        for name in ("id", "model", "usage"):
            if event.get(name):
                self._about[name] = event[name]
        for choice in event.get("choices") or ()[:1]:
            delta = choice.get("delta") or {}
            for name in ("content", "refusal", "reasoning_content", "reasoning"):
                if delta.get(name):
                    self._message[name] = self._message.get(name, "") + delta[name]
            for part in delta.get("tool_calls") or ():
                self._add_call(part)
            self._finish = choice.get("finish_reason") or self._finish
        self.text = self._message.get("content", "")
        self.is_complete = bool(self._finish)

    def _add_call(self, part: Mapping[str, Any]) -> None:
        number = part.get("index", len(self._calls))
        call = self._calls.setdefault(number, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = part.get("id") or call["id"]
        function = part.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""

    @property
    def whole(self) -> dict[str, Any]:
        """The completion."""
        calls = [self._calls[number] for number in sorted(self._calls)]
        message = {**self._message, **({"tool_calls": calls} if calls else {})}
        return {**self._about, "choices": [{"message": message, "finish_reason": self._finish}]}


Fold = ChatFold
