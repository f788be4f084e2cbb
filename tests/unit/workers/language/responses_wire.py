"""The Responses protocol as a server speaks it that holds each conversation by its last answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model_server import Say

PATH = "/v1/responses"
REQUIRED = ("model", "input")


class Held:
    """Conversations by the ids of their answers; `forget` as a provider does after 30 days."""

    def __init__(self) -> None:
        self.conversations: dict[str, list[Any]] = {}

    def refusal(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The error for an answer that is not held."""
        previous = body.get("previous_response_id")
        if not previous or previous in self.conversations:
            return None
        return {
            "message": f"Previous response with id '{previous}' not found.",
            "type": "invalid_request_error",
            "param": "previous_response_id",
            "code": "previous_response_not_found",
        }

    def hold(self, body: dict[str, Any], answer: dict[str, Any]) -> None:
        before = self.conversations.get(body.get("previous_response_id") or "", [])
        self.conversations[answer["id"]] = [*before, *body["input"], *answer["output"]]

    def forget(self) -> None:
        self.conversations.clear()


def in_responses(say: Say, body: dict[str, Any], number: int) -> dict[str, Any]:
    text = {"type": "output_text", "text": say.text, "annotations": [], "logprobs": []}
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": say.model or body["model"],
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": say.tokens_in,
            "output_tokens": say.tokens_out,
            "total_tokens": say.tokens_in + say.tokens_out,
            "input_tokens_details": {"cached_tokens": say.cached, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": say.reasoned},
        },
    }


def events_of_response(say: Say, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The response as its events."""
    (message,) = whole["output"]
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    at = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    (part,) = message["content"]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**message, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *(
            {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
            for piece in say.pieces(say.text)
        ),
        {"type": "response.output_text.done", **at, "text": say.text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": whole},
    ]
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}
