"""Calls of models and tools as activities of the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from pydantic_ai.durable_exec import (
    DurableOperation,
    DurableOperationId,
    EventStreamHandlerId,
    JournalCallableOperationBackend,
    ModelRequestId,
    RoleBasedOperationConfig,
    ToolsetCallToolId,
    ToolsetValidateToolArgumentsId,
    record_durable_unit,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ..current import Current, required
from ..framework_calls import Made, make_approved, once
from ..record import calls
from ..record.declared import MODEL
from ..record.values import digest, recordable

Json = dict[str, Any]
Body = Callable[[], Awaitable[object]]
# They say that a tool has not run yet; it is called once more after people have answered.
DEFERRED = frozenset({"approval_required", "call_deferred"})
# The tool that what the framework itself does is recorded under, such as listing an MCP server's.
FRAMEWORK = "pydantic_ai"
FAILED = frozenset({"model_retry", "tool_failed", "validation_error", "run_cancelled"})
# Differ between two calls with the same content.
VOLATILE = frozenset({"timestamp", "run_id", "conversation_id"})

# The tool call that is being executed.
executed: ContextVar[tuple[ToolCallPart, ToolDefinition] | None] = ContextVar(
    "executed", default=None
)
_key: ContextVar[str] = ContextVar("key", default="")
# What people changed the arguments of the call to that is made next.
_edited: ContextVar[Json | None] = ContextVar("edited", default=None)


def idempotency_key() -> str:
    """The key of the approved tool call that is being made, the same after each crash."""
    return _key.get()


def is_idempotent(definition: ToolDefinition) -> bool:
    """Read from a tool's metadata that it acts once for one key."""
    return bool((definition.metadata or {}).get("gatepost", {}).get("idempotent"))


class Activities(JournalCallableOperationBackend[None]):
    """Records each operation of a run as an activity and a step of the thread."""

    def __init__(self, *, agent_name: str, default_model_id: str | None) -> None:
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        super().__init__(agent_name=agent_name, default_model_id=default_model_id, config=config)
        self._agent_name = agent_name

    def bind(self, operation: DurableOperation[Any, Any, Any]) -> Any:
        """Let a tool's call be made with arguments that people changed."""
        if not isinstance(operation.operation_id, ToolsetCallToolId):
            return super().bind(operation)

        async def handle(params: Any) -> Any:
            return await operation.handler(await _with_edit(params))

        return super().bind(replace(operation, handler=handle))

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Body,
        cache_key: tuple[object, ...],
        config: None,
    ) -> object:
        """Answer a finished operation from the record, else perform it once."""
        if isinstance(operation_id, (EventStreamHandlerId, ToolsetValidateToolArgumentsId)):
            return await body()
        scope = required(name)
        announced = ""
        executing = executed.get() if isinstance(operation_id, ToolsetCallToolId) else None
        if executing is not None:
            call, definition = executing
            if proposed := scope.work.decided.get(call.tool_call_id):
                idempotent = is_idempotent(definition)
                return await _effect(scope, replace(proposed, idempotent=idempotent), call, body)
            node, kind, tool, args = call.tool_name, "activity", call.tool_name, call.args_as_dict()
        elif isinstance(operation_id, ModelRequestId):
            node, kind, tool = f"{self._agent_name}.model", "model", operation_id.model_name
            announced = MODEL
            history = ModelMessagesTypeAdapter.dump_python(cache_key[1], mode="json")
            args = {"request": _stable(history[-1]), "history": digest(_stable(history))}
        else:
            node, kind, tool, args = name, "activity", FRAMEWORK, {}
            announced = FRAMEWORK
        args = recordable(args, f"What {node!r} is called with")
        key = scope.work.name_call(node)
        inputs = digest(args)
        call_ = calls.PureCall(node, key, kind, tool, args, inputs, announced)
        usage = _usage if kind == "model" else None

        async def edited(decided: Json) -> Any:
            token = _edited.set(decided)
            try:
                return await body()
            finally:
                _edited.reset(token)

        of_tool: Json = {} if executing is None else {"edited": edited, "refused": _failed}
        result, is_new = await once(
            scope, call_, body, usage=usage, is_deferred=_is_deferred, **of_tool
        )
        record_durable_unit(executed=is_new)
        return result


async def _with_edit(params: Any) -> Any:
    """A tool's call with what people changed, checked as what the model writes is."""
    args = _edited.get()
    if args is None:
        return params
    _edited.set(None)  # not for calls inside of this one
    tool = getattr(params, "tool", None)  # one of a dynamic toolset is checked where it is called
    if tool is not None:
        args = tool.args_validator.validate_python(args, context=params.ctx.validation_context)
        if tool.args_validator_func is not None:
            checked = tool.args_validator_func(params.ctx, **args)
            if isawaitable(checked):
                await checked
    return replace(params, tool_args=args)


def _is_deferred(returned: Any) -> bool:
    return isinstance(returned, dict) and returned.get("kind") in DEFERRED


def _stable(value: Any) -> Any:
    """A message without what differs between two calls with the same content."""
    if isinstance(value, dict):
        return {name: _stable(v) for name, v in value.items() if name not in VOLATILE}
    return [_stable(v) for v in value] if isinstance(value, list) else value


def _usage(result: Any) -> Json:
    counts = result.get("usage") or {}
    tokens = int(counts.get("input_tokens") or 0) + int(counts.get("output_tokens") or 0)
    return {"model": str(result.get("model_name") or "")[:200], "tokens": tokens}


async def _effect(scope: Current, proposed: calls.Proposed, call: ToolCallPart, body: Body) -> Any:
    """Make an approved tool call once, with exactly the decided arguments."""

    async def made(key: str) -> Made:
        token = _key.set(key)
        try:
            payload: Any = await body()
        finally:
            _key.reset(token)
        if payload["kind"] in FAILED:
            error = payload.get("message") or "The tool refused its arguments."
            return Made(payload, None, str(error))
        result = payload["result"]
        return Made(payload, payload if _is_payload(result) else result)

    args = recordable(call.args_as_dict(), f"What {call.tool_name!r} is called with")
    answer, is_new = await make_approved(
        scope, proposed, args, made, recorded=_payload, refused=_failed
    )
    record_durable_unit(executed=is_new)
    return answer


def _failed(reason: str) -> Json:
    return {"kind": "tool_failed", "message": reason}


def _is_payload(result: Any) -> bool:
    return isinstance(result, dict) and isinstance(result.get("kind"), str) and "result" in result


def _payload(result: Any) -> Json:
    """A recorded outcome as Pydantic AI encodes it; a person may have written it."""
    return result if _is_payload(result) else {"kind": "tool_return", "result": result}
