"""Readers of an answer: ours, and those of other libraries where they are installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gatepost import Retry
from workers.authoring.language_models import Reply, Request
from workers.language import refused_parameters
from workers.language.configuration import model_of
from workers.language.failures import BadAnswer, BrokenOff
from workers.step.retries import allowed, judge

from .recorded_shapes import Shape
from .replay import replaying

type Reading = dict[str, Any]
MESSAGES = ({"role": "user", "content": "Look at the cities."},)


def reading(
    text: str, finish: str, tokens: tuple[int, int], calls: Any, reasoning: str, cached: int
) -> Reading:
    """A reading in the form of the shapes."""
    more = {"calls": calls, "reasoning": reasoning, "cached": cached}
    result = {"text": text, "finish": finish, "tokens": list(tokens)}
    return result | {name: value for name, value in more.items() if value}


def ours(shape: Shape) -> Reading:
    """Read a shape over HTTP with the reader of the product."""
    refused_parameters.refusals.clear()
    how = "" if shape.answer.is_stream else "?stream=no"
    with replaying(shape.answer) as server:
        url = f"{server.url}{how or '?prices=none'}"
        model = model_of(f"{shape.wire}:some-model@{url}")
        try:
            answer = model(Request((), chat=MESSAGES))
        except Exception as error:  # each is a reading
            return _failure(error)
    assert isinstance(answer, Reply)
    calls = [[call.id, call.name, call.raw or call.arguments] for call in answer.tool_calls]
    tokens = (answer.tokens_in, answer.tokens_out)
    reasoning, cached = answer.reasoning, answer.tokens_cached
    return reading(answer.text, answer.finish_reason, tokens, calls, reasoning, cached)


def _failure(error: Exception) -> Reading:
    judged = judge(error, time.time)
    status = getattr(error, "status_code", None)
    kind = "cut" if isinstance(error, BrokenOff) else "unread" if type(error) is BadAnswer else None
    result = {
        "error": kind or status or type(error).__name__,
        "words": str(error),
        "asked_again": allowed(Retry(), error, judged, repeatable=True),
    }
    return result if judged.after is None else result | {"after": judged.after}


def is_right(result: Reading, shape: Shape) -> bool:
    """True if a reading is the shape's: of an error its kind, words and what follows from it."""
    right = dict(shape.reading)
    right.pop("changes", None)
    if "error" not in right:
        return _plain(result) == _plain(right)
    if "error" not in result or right.pop("words") not in str(result["words"]):
        return False
    return all(result.get(name) == value for name, value in right.items())


def _plain(value: Reading) -> Reading:
    """A reading with the arguments of its calls as values: white space does not matter."""
    import json

    calls = [
        [identity, name, json.loads(arguments or "{}") if isinstance(arguments, str) else arguments]
        for identity, name, arguments in value.get("calls", ())
    ]
    return value | ({"calls": calls} if calls else {})


READERS: dict[str, Callable[[Shape], Reading]] = {"gatepost": ours}
