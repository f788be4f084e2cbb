"""Turn what `interrupt()` asks into requests to people, and their answers into its form.

There are four forms: a list of Agent Inbox; `action_requests` with `review_configs`, as LangChain's
middleware sends them; one `tool_approval`; anything else is a question, whose answer has to fit
`response_schema`; without one, a text is answered by a text, a number or a yes or no.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from langgraph.types import Interrupt

from gatepost import Context
from workers.authoring.errors import GateReached

_CONFIG: Final = {
    "approve": "allow_accept",
    "edit": "allow_edit",
    "respond": "allow_respond",
    "reject": "allow_ignore",
}
# The answer to a text: a graph that validates it may want a number or a yes or no, never an object.
_WORDS: Final = {"type": ["string", "number", "boolean"]}
_QUESTION_FIELDS: Final = ("question", "message", "description", "prompt")


def answer(ctx: Context, interrupt: Interrupt[Any], value: Any) -> Any:
    """Return the answer of people to an interrupt; raises GateReached while there is none.

    `value` is the value of the interrupt as JSON.
    """
    key = f"interrupt:{interrupt.id}"
    requests = value if isinstance(value, list) else [value]
    if requests and all(isinstance(r, Mapping) and "action_request" in r for r in requests):
        return ctx.interrupt(requests, key=key)
    if isinstance(value, Mapping) and "action_requests" in value:
        return {"decisions": _decisions(ctx, value, key)}
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        allowed = value.get("allowed_decisions", ("approve", "edit", "reject"))
        return _decided(ctx, value, allowed, key)
    schema = interrupt.response_schema
    if not isinstance(schema, dict):
        schema = _WORDS if isinstance(value, str) else None
    return ctx.ask(_question(value), schema=schema, key=key).value


def _decisions(ctx: Context, value: Mapping[str, Any], key: str) -> list[Any]:
    """Return one decision per action, in order; all open ones are asked at the same time."""
    configs = {c.get("action_name"): c for c in value.get("review_configs", ())}
    decisions: list[Any] = []
    stops: list[GateReached] = []
    for number, request in enumerate(value["action_requests"]):
        config = configs.get(request.get("name"), {})
        allowed = config.get("allowed_decisions", ("approve", "edit", "reject"))
        try:
            decisions.append(_decided(ctx, request, allowed, f"{key}:{number}"))
        except GateReached as stop:
            stops.append(stop)
    if stops:
        raise GateReached.merged(stops)
    return decisions


def _decided(ctx: Context, request: Mapping[str, Any], allowed: Any, key: str) -> dict[str, Any]:
    """Return the decision on one action, in the form of LangChain's middleware."""
    name, args = request.get("name"), request.get("args", request.get("arguments", {}))
    (result,) = ctx.interrupt(
        {
            "action_request": {"action": name, "args": args},
            "config": {_CONFIG[verdict]: True for verdict in allowed if verdict in _CONFIG},
            "description": request.get("description") or "",
        },
        key=key,
    )
    if result["type"] == "edit":
        edited = {"name": result["args"]["action"], "args": result["args"]["args"]}
        return {"type": "edit", "edited_action": edited}
    if result["type"] == "response":
        return {"type": "respond", "message": result["args"]}
    if result["type"] == "ignore":
        return {"type": "reject", "message": result.get("comment") or "Rejected by a reviewer."}
    return {"type": "approve"}


def _question(value: Any) -> str:
    if isinstance(value, str):
        return value or "How should the agent continue?"
    if isinstance(value, Mapping):
        for name in _QUESTION_FIELDS:
            if isinstance(value.get(name), str) and value[name]:
                rest = {k: v for k, v in value.items() if k != name}
                return f"{value[name]}\n\n{_text(rest)}" if rest else str(value[name])
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
