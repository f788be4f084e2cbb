"""A model's call as the thread's page shows it: what was asked, what came back, what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints.views import ActivityRow
from dashboard.wording.sentences import as_json, as_text
from dashboard.wording.text import number, span

TEXT_MAX = 1_500
MESSAGES_MAX = 6  # the newest; the whole is in the API


@dataclass(frozen=True, slots=True)
class Part:
    """One text of the call: whose it is, the text, and whether more of it is recorded."""

    role: str
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Facts are what it was called with and what it took; `earlier` messages are not in `query`."""

    facts: list[tuple[str, str]]
    query: list[Part]
    earlier: int
    answer: list[Part]


def model_call_of(activity: ActivityRow) -> ModelCall | None:
    """The call behind a save point; None where it is none."""
    if activity.kind != "model" or not isinstance(activity.args, Mapping):
        return None
    args = activity.args
    usage = activity.usage if isinstance(activity.usage, Mapping) else {}
    query = list(_query_parts(args))
    return ModelCall(
        list(_facts(args, usage)),
        query[-MESSAGES_MAX:],
        max(0, len(query) - MESSAGES_MAX),
        list(_answer_parts(activity.result)),
    )


def _listed(value: Any) -> list[Any]:
    """A list as it is; a capsule may bring anything in its place."""
    return value if isinstance(value, list) else []


def _part(role: str, value: Any) -> Part:
    text = as_text(value)
    return Part(role, text[:TEXT_MAX], len(text) > TEXT_MAX)


def _query_parts(args: Mapping[str, Any]) -> Iterator[Part]:
    if args.get("system"):
        yield _part("system", args["system"])
    for part in _listed(args.get("parts")):
        yield _part("user", part)
    for message in _listed(args.get("messages")):
        if not isinstance(message, Mapping):
            continue
        role = str(message.get("role", ""))
        if message.get("content"):
            yield _part(role, message["content"])
        yield from _calls(message, role)


def _calls(message: Mapping[str, Any], role: str) -> Iterator[Part]:
    for call in _listed(message.get("tool_calls")):
        if isinstance(call, Mapping):
            error = f" ({call['error']})" if call.get("error") else ""
            arguments = call.get("arguments")
            raw = call.get("raw", "") if arguments is None else as_json(arguments)
            yield _part(f"{role} calls {call.get('name')}", f"{raw}{error}")


def _answer_parts(result: Any) -> Iterator[Part]:
    if not isinstance(result, Mapping):
        if result is not None:
            yield _part("answer", result)
        return
    if result.get("reasoning"):
        yield _part("reasoning", result["reasoning"])
    if result.get("text"):
        yield _part("answer", result["text"])
    yield from _calls(result, "model")
    if result.get("error"):
        yield _part("error", result["error"])


def _facts(args: Mapping[str, Any], usage: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if model := usage.get("model") or args.get("model"):
        yield "Model", str(model)
    if "temperature" in args:
        yield "Temperature", str(args["temperature"])
    if isinstance(tokens := usage.get("tokens"), int) and tokens:
        inside = {"in": "tokens_in", "out": "tokens_out"}
        inside |= {"cached": "tokens_cached", "reasoning": "tokens_reasoning"}
        parts = [f"{number(usage[key])} {word}" for word, key in inside.items() if usage.get(key)]
        yield "Tokens", f"{number(tokens)} ({', '.join(parts)})" if parts else number(tokens)
    if usage.get("unpriced"):
        yield "Cost", "unpriced"
    elif "cost" in usage:
        yield "Cost", f"${usage['cost']}"
    if usage.get("milliseconds"):
        yield "Latency", span(usage["milliseconds"] / 1000)
    if usage.get("finish_reason"):
        yield "Finished", str(usage["finish_reason"])
    if usage.get("request_id"):
        yield "Request", str(usage["request_id"])
