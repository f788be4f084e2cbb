"""Calls of the SDK's models and tools as activities of the thread."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from pydantic import BaseModel, TypeAdapter

from ..current import current
from ..framework_calls import Made, make_approved, once
from ..record import calls
from ..record.declared import MODEL
from ..record.values import digest, recordable

# By name: a folder of this name may lie beside the script, and tools that read imports take it.
sdk: Any = import_module("agents")
Json = dict[str, Any]
_RESPONSE: TypeAdapter[Any] = TypeAdapter(sdk.ModelResponse)
_key: ContextVar[str] = ContextVar("key", default="")


def idempotency_key() -> str:
    """The key of the approved tool call that is being made, the same after each crash."""
    return _key.get()


class RecordedModel(sdk.Model):
    """A model whose finished calls answer from the record."""

    def __init__(self, model: Any) -> None:
        self.wrapped = model

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> Any:
        """The recorded response to this input, else a new one."""
        scope = current()
        if scope is None or scope.part:
            return await self.wrapped.get_response(system_instructions, input, *args, **more)

        async def request() -> Any:
            response = await self.wrapped.get_response(system_instructions, input, *args, **more)
            return _RESPONSE.dump_python(response, mode="json", exclude_unset=True, warnings=False)

        history = plain(input if isinstance(input, list) else [input])
        name = str(getattr(self.wrapped, "model", "") or type(self.wrapped).__name__)
        called = recordable(
            {"request": history[-1], "history": digest([system_instructions, history])}, name
        )
        key = scope.work.name_call(MODEL)
        call = calls.PureCall(MODEL, key, "model", name[:200], called, digest(called))
        saved, _ = await once(scope, call, request, usage=lambda made: _usage(name, made))
        return _RESPONSE.validate_python(saved)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        """Streams are not recorded."""
        stream: AsyncIterator[Any] = self.wrapped.stream_response(*args, **more)
        return stream


class Provider(sdk.ModelProvider):
    """Models by name, recorded."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def get_model(self, model_name: str | None) -> Any:
        """The model of that name."""
        return RecordedModel(self._provider.get_model(model_name))


def _usage(name: str, response: Json) -> Json:
    usage = response.get("usage") or {}
    return {"model": name[:200], "tokens": int(usage.get("total_tokens") or 0)}


def plain(value: Any) -> Any:
    """A value as JSON; what has no such form as text."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


class RecordedTool:
    """A tool's function: pure calls are recorded, approved ones are effects."""

    def __init__(self, name: str, invoke: Any) -> None:
        self.name = name
        self.wrapped = invoke

    async def __call__(self, context: Any, arguments: str) -> Any:
        scope = current()
        if scope is None or scope.part:
            return await self.wrapped(context, arguments)
        args = recordable(json.loads(arguments or "{}"), f"What {self.name!r} is called with")

        async def invoke() -> Any:
            return plain(await self.wrapped(context, arguments))

        async def made(key: str) -> Made:
            token = _key.set(key)
            try:
                answer = await invoke()
            finally:
                _key.reset(token)
            return Made(answer, answer)

        if proposed := scope.work.decided.get(context.tool_call_id):
            answer, _ = await make_approved(
                scope, proposed, args, made, recorded=lambda result: result, refused=str
            )
        else:
            key = f"{self.name} {context.tool_call_id}"[:190]
            call = calls.PureCall(self.name, key, "activity", self.name, args, digest(args))

            async def edited(decided: Json) -> Any:
                return plain(await self.wrapped(context, json.dumps(decided)))

            answer, _ = await once(scope, call, invoke, edited=edited, refused=str)
        return answer
