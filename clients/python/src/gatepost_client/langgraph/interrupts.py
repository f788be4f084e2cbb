"""Interrupts of LangGraph as requests to people, and their answers as LangGraph takes them.

Four forms: requests of Agent Inbox; tool calls of `HumanInTheLoopMiddleware`, all together or each
by itself; and anything else, which is a question, with a form where there is a response schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wire.errors import Expired, Rejected
from .serializer import JsonSerializer

Json = dict[str, Any]
DECISIONS = ("approve", "edit", "reject", "respond")
# LangChain's word for a decision: the flag of Agent Inbox that allows it.
_FLAGS = {
    "approve": "allow_accept",
    "edit": "allow_edit",
    "reject": "allow_ignore",
    "respond": "allow_respond",
}
_TEXTS = ("question", "message", "prompt", "instruction", "query", "text", "title", "description")
# The answer to a text: a graph that validates it may want a number or a yes or no, never an object.
_WORDS: Json = {"type": ["string", "number", "boolean"]}
TEXT_MAX = 20_000


@dataclass(frozen=True)
class InterruptRequests:
    """An interrupt with the requests that it becomes; `form` says how it is answered."""

    id: str
    form: str
    value: Any
    queries: Sequence[Json]

    def answer(self, answers: Mapping[str, Json]) -> Any:
        """The value to resume with, by the key of each request; raises Rejected, Expired."""
        results = [self._result(answers[query["key"]]) for query in self.queries]
        if self.form == "decisions":
            return {"decisions": results}
        return results if self.form == "inbox" else results[0]

    def _result(self, answer: Json) -> Any:
        if answer["state"] == "expired":
            raise Expired("Nobody decided in time.")
        if answer["state"] == "rejected":
            raise Rejected(answer["comment"], answer["by"])
        if self.form in ("decision", "decisions"):
            return decision_of(answer["answer"], answer["comment"])
        return answer["answer"]


def requests_of(
    serde: JsonSerializer, node: str, ident: str, value: Any, schema: Any, error: str = ""
) -> InterruptRequests:
    """The requests that an interrupt becomes; `error` is why the last answer was not taken."""
    encoded = serde.encode(value, "interrupt")
    form, bodies = _bodies(encoded, schema)
    number = f"{ident} again {_short(error)}" if error else ident
    queries = [
        {"node": node[:100], "key": f"{number}/{n}" if n else number, **_explained(body, error)}
        for n, body in enumerate(bodies)
    ]
    return InterruptRequests(ident, form, encoded, queries)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _bodies(value: Any, schema: Any) -> tuple[str, list[Json]]:
    """The form of an interrupt's value, and what is asked for it."""
    if _is_inbox(value):
        return "inbox single", [{"interrupt": value}]
    if isinstance(value, list) and value and all(map(_is_inbox, value)):
        return "inbox", [{"interrupt": one} for one in value]
    if isinstance(value, dict) and _is_list_of_actions(value.get("action_requests")):
        return "decisions", list(_actions(value))
    if isinstance(value, dict) and value.get("type") == "tool_approval" and "name" in value:
        return "decision", [{"interrupt": _request(value, allowed_by(schema))}]
    question: Json = {"question": _text(value)}
    if isinstance(schema, dict):
        question["schema"] = schema
    elif isinstance(value, str):
        question["schema"] = _WORDS
    if not isinstance(value, str) and (shown := _shown(value)) != question["question"]:
        question["description"] = shown
    return "answer", [{"question": question}]


def _is_inbox(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("action_request"), dict)


def _is_list_of_actions(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(a, dict) for a in value)


def _actions(value: Json) -> Iterator[Json]:
    configs = value.get("review_configs") or []
    allowed = {one.get("action_name"): one.get("allowed_decisions") for one in configs}
    for action in value["action_requests"]:
        yield {"interrupt": _request(action, allowed.get(action.get("name")) or DECISIONS)}


def _request(action: Json, allowed: Sequence[str]) -> Json:
    """A tool call in the form of Agent Inbox."""
    args = action.get("args")
    return {
        "action_request": {
            "action": str(action.get("name")),
            "args": args if isinstance(args, dict) else {"args": args},
        },
        "config": {flag: decision in allowed for decision, flag in _FLAGS.items()},
        "description": str(action.get("description") or ""),
    }


def allowed_by(schema: Any) -> tuple[str, ...]:
    """The decisions that a response schema names; all of them where it names none."""
    types = set(_types(schema))
    return tuple(word for word in DECISIONS if word in types) or DECISIONS


def _types(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        kind = schema.get("properties", {}).get("type", {})
        yield from (v for v in (kind.get("const"), *kind.get("enum", ())) if isinstance(v, str))
        for member in schema.values():
            yield from _types(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from _types(member)


def decision_of(answer: Json, comment: str) -> Json:
    """An answer of Agent Inbox as a decision of LangChain."""
    match answer["type"]:
        case "accept":
            return {"type": "approve"}
        case "edit":
            edited = answer["args"]
            return {
                "type": "edit",
                "edited_action": {"name": edited["action"], "args": edited["args"]},
            }
        case "response":
            return {"type": "respond", "message": answer["args"]}
    return {"type": "reject", "message": comment} if comment else {"type": "reject"}


def _text(value: Any) -> str:
    """The question as a text of a line or so."""
    if isinstance(value, str):
        return value[:TEXT_MAX].strip() or "?"
    if isinstance(value, dict):
        for name in _TEXTS:
            if isinstance(text := value.get(name), str) and text.strip():
                return text[:TEXT_MAX]
    return _shown(value)


def _shown(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)[:TEXT_MAX]


def _explained(body: Json, error: str) -> Json:
    """The request with why the last answer was not taken."""
    if not error:
        return body
    why = f"The last answer was not taken: {error}"[:2_000]
    name = "interrupt" if "interrupt" in body else "question"
    request = body[name]
    text = "\n\n".join(part for part in (request.get("description"), why) if part)
    return {name: {**request, "description": text}}
