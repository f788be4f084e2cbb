"""Models for tests: functions that answer by what they are shown."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from gatepost import Reply, Request, ToolCall

Answer = str | list[tuple[str, dict[str, Any]]] | Reply


def calls(*wanted: tuple[str, Any], **more: Any) -> Reply:
    """An answer that calls these tools; ids start anew in each answer, as some servers do."""
    made = tuple(ToolCall(f"call-{n}", name, args) for n, (name, args) in enumerate(wanted))
    return Reply("", model="test-1", tool_calls=made, finish_reason="tool_calls", **more)


def by_turn(*answers: Any) -> Callable[[Request], Any]:
    """Answers by how many results of tools the model is shown, so retries are answered alike.

    `seen` of the function keeps the requests.
    """

    def model(request: Request) -> Any:
        model.seen.append(request)  # type: ignore[attr-defined]
        answered = sum(m["role"] == "assistant" for m in request.chat)
        answer = answers[min(answered, len(answers) - 1)]
        return Reply(answer, model="test-1") if isinstance(answer, str) else answer

    model.seen = []  # type: ignore[attr-defined]
    return model


def results(request: Request) -> list[str]:
    """The results of tools at the end of a request, in their order."""
    tail = itertools.takewhile(lambda m: m["role"] == "tool", reversed(request.chat))
    return [m["content"] for m in tail][::-1]
