"""Turns without text, which models answer at times and servers refuse as part of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

EMPTY = "(empty message)"  # where nothing else is left to send


def without_blank(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages without an assistant's blank turns; people's turns beside such a gap become one."""
    result: list[dict[str, Any]] = []
    is_gap = False
    for message in messages:
        if message["role"] == "assistant" and not (
            message["content"].strip() or message.get("tool_calls")
        ):
            is_gap = True
            continue
        if is_gap and result and message["role"] == "user" == result[-1]["role"]:
            texts = (result[-1]["content"], message["content"])
            result[-1] = {**message, "content": "\n\n".join(text for text in texts if text)}
        else:
            result.append(dict(message))
        is_gap = False
    return result
