"""Conversations with a model: messages, tools it may call, and its answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import PydanticUserError

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.schema_texts import with_definitions

from .checks import shown
from .errors import StepFailed
from .frozen import plain
from .tools import Tool

KEYS = {
    "system": {"content"},
    "user": {"content"},
    "assistant": {"content", "tool_calls"},
    "tool": {"content", "tool_call_id"},
}


class StoredMessages(list[dict[str, Any]]):
    """Messages that the state holds: the record of a call names them, so that it stays short."""

    def __init__(self, messages: Sequence[dict[str, Any]], record: dict[str, Any]) -> None:
        super().__init__(messages)
        self.record = record


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a model asks for.

    `arguments` is None where the model sent something else than a JSON object: `raw` is its text.
    `error` says what is wrong with the arguments, with the path.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str = ""
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """The call as a message holds it; what is empty is left out."""
        more = {"raw": self.raw, "error": self.error}
        return {
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            **{name: value for name, value in more.items() if value},
        }

    def reply(self, value: Any) -> dict[str, Any]:
        """The message that gives the model the result of this call: text, or a value as JSON."""
        return {"role": "tool", "tool_call_id": self.id, "content": text_of(plain(value))}


class Usage(dict[str, Any]):
    """Tokens and cost of an answer, by attribute or by name: `usage.cost` or `usage["cost"]`.

    A cost that is not known is None, not "0"; counts that the provider leaves out are 0.
    """

    def __missing__(self, name: str) -> Any:
        if name not in _UNKNOWN:
            raise KeyError(name)
        return _UNKNOWN[name]

    @property
    def model(self) -> str:
        """The exact name of the model that answered."""
        return str(self["model"])

    @property
    def tokens(self) -> int:
        """Tokens of request and answer."""
        return int(self["tokens"])

    @property
    def cost(self) -> str | None:
        """Dollars as text, None where the price of the model is not known."""
        cost: str | None = self["cost"]
        return cost


# What stands for a member of a usage that is not there.
_UNKNOWN: dict[str, Any] = {
    "model": "",
    "tokens": 0,
    "tokens_in": 0,
    "tokens_out": 0,
    "tokens_cached": 0,
    "tokens_reasoning": 0,
    "cost": None,
    "request_id": "",
}


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer to messages.

    `finish_reason` is "stop", "tool_calls", "length", "refusal" or the provider's own word.
    With a response schema `data` is the answer's value, and `error` says why there is none.
    `usage` has model, tokens, tokens_in, tokens_out, cost (None where the price is not known), and
    where the provider names them tokens_cached, tokens_reasoning and request_id. `conversation` is
    the id of the conversation where the provider holds it.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    reasoning: str = ""
    data: Any = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)
    conversation: str = ""

    @property
    def message(self) -> dict[str, Any]:
        """The answer as the assistant's message, to continue with."""
        calls = [call.to_json() for call in self.tool_calls]
        return {
            "role": "assistant",
            "content": self.text,
            **({"tool_calls": calls} if calls else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """The answer as it is recorded, without empty fields."""
        more = {
            "tool_calls": [call.to_json() for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "reasoning": self.reasoning,
            "error": self.error,
            "usage": dict(self.usage),
            "conversation": self.conversation,
        }
        return {"text": self.text, **{name: value for name, value in more.items() if value}} | (
            {} if self.data is None else {"data": self.data}
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ModelAnswer:
        """The answer of a record."""
        fields = dict(value)
        calls = tuple(ToolCall(**call) for call in fields.pop("tool_calls", ()))
        usage = Usage(fields.pop("usage", {}))
        return cls(**fields, tool_calls=calls, usage=usage)


def text_of(value: Any) -> str:
    """Text as it is, any other value as JSON."""
    return value if isinstance(value, str) else deltas.canonical(value).decode()


def tool_call(identity: str, name: str, raw: str) -> ToolCall:
    """A call with its arguments as the model wrote them; the error stays with it."""
    try:
        arguments = deltas.decode_request((raw or "{}").encode(), rounds=True)
    except (InvalidValue, UnicodeEncodeError) as error:
        return ToolCall(identity, name, None, raw, f"The arguments are no JSON: {error}.")
    if not isinstance(arguments, dict):
        return ToolCall(identity, name, None, raw, "The arguments must be an object.")
    return ToolCall(identity, name, arguments)


def checked_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The messages as they are recorded; StepFailed with the path of what is none."""
    if isinstance(messages, str | Mapping) or not messages:
        raise StepFailed(
            'messages= takes a list: ctx.model(messages=[{"role": "user", "content": "..."}]).'
        )
    result = []
    for number, message in enumerate(plain(list(messages))):
        path = f"$.messages[{number}]"
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in KEYS:
            raise StepFailed(f"{path}.role must be one of {', '.join(KEYS)}, not {shown(role)}.")
        if strange := message.keys() - KEYS[role] - {"role"}:
            raise StepFailed(f"{path}: a message of {role} has no {min(strange)!r}.")
        if not isinstance(message.get("content"), str):
            raise StepFailed(f"{path}.content must be text.")
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise StepFailed(f"{path}.tool_call_id must name the call that this answers.")
        for at, call in enumerate(message.get("tool_calls", ())):
            if not isinstance(call, dict) or not {"id", "name", "arguments"} <= call.keys():
                raise StepFailed(f"{path}.tool_calls[{at}] must have id, name and arguments.")
        result.append(message)
    return tuple(result)


def checked_tools(
    tools: Sequence[Tool | Callable[..., Any] | Mapping[str, Any]],
) -> tuple[dict[str, Any], ...]:
    """Tools as a model is shown them: name, description, JSON Schema of the arguments.

    Those of a function are its name, its docstring and the types of its parameters.
    """
    result = []
    for number, tool in enumerate(tools):
        path = f"$.tools[{number}]"
        if isinstance(tool, Tool):
            about = (tool.call.__doc__ or "").strip()
            result.append({"name": tool.name, "description": about, "schema": tool.schema})
            continue
        if callable(tool):
            result.append(_shown(tool, path))
            continue
        value = plain(dict(tool)) if isinstance(tool, Mapping) else {}
        if not isinstance(value.get("name"), str) or not value["name"]:
            raise StepFailed(f"{path} must be a tool, or have a name, a description and a schema.")
        check_schema(value.get("schema"), f"{path}.schema")
        result.append({"description": "", **value})
    return tuple(result)


def _shown(call: Callable[..., Any], path: str) -> dict[str, Any]:
    """A plain function as a model is shown it; StepFailed where it has no name or no schema."""
    name = getattr(call, "__name__", "")
    if not name or name == "<lambda>":
        raise StepFailed(f"{path} needs a name for the model to call it by: use a named function.")
    try:
        schema = with_definitions(Tool(name, call).schema)
    except (PydanticUserError, NameError, TypeError) as error:
        raise StepFailed(f"{path}: the parameters of {name!r} have no schema: {error}") from None
    return {"name": name, "description": inspect.cleandoc(call.__doc__ or ""), "schema": schema}


def check_schema(schema: Any, path: str) -> None:
    """Raise StepFailed for what is no JSON Schema of an object."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise StepFailed(f'{path} must be a JSON Schema with "type": "object".')
    check_any_schema(schema, path)


def check_any_schema(schema: Any, path: str) -> None:
    """Raise StepFailed for what is no JSON Schema."""
    if not isinstance(schema, dict):
        raise StepFailed(f"{path} must be a JSON Schema as a dict, not {shown(schema)}.")
    import jsonschema  # a sixth of what `import gatepost` would take

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise StepFailed(f"{path} is not JSON Schema: {error.message}.") from None


def fault(value: Any, schema: Mapping[str, Any]) -> str:
    """Explain why a value does not fit a schema, with the path; "" where it does."""
    import jsonschema

    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(value)
    )
    return f"{error.json_path}: {error.message}" if error else ""


def checked_call(call: ToolCall, tools: Sequence[Mapping[str, Any]]) -> ToolCall:
    """The call with what is wrong with it: an unknown tool, arguments that do not fit."""
    if call.error:
        return call
    schema = next((tool["schema"] for tool in tools if tool["name"] == call.name), None)
    error = f"There is no tool {call.name!r}." if schema is None else fault(call.arguments, schema)
    return ToolCall(call.id, call.name, call.arguments, call.raw, error)


def checked_answer(
    answer: ModelAnswer,
    *,
    tools: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any] | None,
) -> ModelAnswer:
    """The answer with what is wrong with it, by the tools and the schema the model was shown."""
    calls = tuple(checked_call(call, tools) for call in answer.tool_calls)
    answer = replace(answer, tool_calls=calls)
    if schema is None or calls or answer.finish_reason == "refusal":
        return answer
    try:
        data = deltas.decode_request(answer.text.encode(), rounds=True)
    except (InvalidValue, UnicodeEncodeError) as error:
        return replace(answer, error=f"The answer is not JSON: {error}.")
    wrong = fault(data, schema)
    return replace(answer, error=wrong) if wrong else replace(answer, data=data)
