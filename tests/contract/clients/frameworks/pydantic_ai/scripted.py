"""A model that follows a script and counts how often it is asked."""

from __future__ import annotations

from bank import note, stay
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look up, refund, say what came of it."""
    note("model", str(len(messages)))
    returned = {
        part.tool_name: part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    if "look_up" not in returned:
        return ModelResponse([ToolCallPart("look_up", {"order": "A1"}, tool_call_id="one")])
    if "refund" not in returned:
        args = {"order": "A1", "cents": returned["look_up"]}
        return ModelResponse([ToolCallPart("refund", args, tool_call_id="two")])
    stay("last model call")
    return ModelResponse([TextPart(f"Done: {returned['refund']}")])


model = FunctionModel(answer)
