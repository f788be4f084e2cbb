"""Requests and answers in the form of pydantic-ai (workers.language.providers)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..authoring.language_models import Reply, Request
from ..authoring.messages import tool_call

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters

FINISHED = {"content_filter": "refusal", "tool_call": "tool_calls"}


def messages_of(request: Request) -> list[ModelMessage]:
    """The query in the form of pydantic-ai: systems first, results of tools with the next texts."""
    from pydantic_ai import messages as forms

    turns: list[tuple[type, list[Any]]] = []
    names: dict[str, str] = {}
    for message in sorted(request.messages, key=lambda m: m["role"] != "system"):
        role, text = message["role"], message["content"]
        parts: list[Any]
        if role == "assistant":
            calls = message.get("tool_calls", ())
            names |= {call["id"]: call["name"] for call in calls}
            parts = [forms.TextPart(text)] if text else []
            parts += [
                forms.ToolCallPart(c["name"], c.get("raw") or c["arguments"], tool_call_id=c["id"])
                for c in calls
            ]
        elif role == "tool":
            identity = message["tool_call_id"]
            name = names.get(identity, "tool")
            parts = [forms.ToolReturnPart(name, text, tool_call_id=identity)]
        else:
            parts = [(forms.SystemPromptPart if role == "system" else forms.UserPromptPart)(text)]
        form = forms.ModelResponse if role == "assistant" else forms.ModelRequest
        if not (turns and turns[-1][0] is form):
            turns.append((form, []))
        turns[-1][1].extend(parts)
    return [form(parts=parts) for form, parts in turns]


def parameters_of(request: Request) -> ModelRequestParameters:
    """Tools that may be called, and the schema of the answer."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(
            name=tool["name"],
            description=tool["description"],
            parameters_json_schema=tool["schema"],
            strict=False,
        )
        for tool in request.tools
    ]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    form = OutputObjectDefinition(json_schema=request.schema, name="answer", strict=False)
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=form)


def details_of(response: ModelResponse) -> dict[str, Any]:
    """The provider's details of the answer, without empty ones."""
    return {k: v for k, v in (response.provider_details or {}).items() if v}


def reply_of(response: ModelResponse) -> tuple[Reply, int]:
    """(the reply without its price, tokens that the cache stored) of an answer."""
    details, usage = details_of(response), response.usage
    reason = response.finish_reason or str(details.get("finish_reason", ""))
    calls = ((call.tool_call_id, call.tool_name, call.args or "{}") for call in response.tool_calls)
    answer = Reply(
        details.get("refusal") or response.text or "",
        model=response.model_name or "",
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        tool_calls=tuple(
            tool_call(identity, name, raw if isinstance(raw, str) else json.dumps(raw))
            for identity, name, raw in calls
        ),
        finish_reason=FINISHED.get(reason, reason),
        tokens_cached=usage.cache_read_tokens,
        tokens_reasoning=usage.output_reasoning_tokens,
        request_id=response.provider_response_id or "",
        reasoning=response.thinking or "",
    )
    return answer, usage.cache_write_tokens
