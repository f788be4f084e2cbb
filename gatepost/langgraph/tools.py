"""Tools of LangChain in a Gatepost thread: recorded, or effects behind a gate."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel

from checkpoints.state import deltas
from gatepost import Context, Gate, GraphError, Tool, plain
from gatepost_client.langgraph import JsonSerializer
from workers.step.answers import Outcome, result_of


class RunningSuperstep(Protocol):
    """The superstep that runs now, as its tools see it."""

    def once(self, name: str, args: Any, key: str, call: Callable[[], Any]) -> Any:
        """Return the recorded result of a call, else make the call and record its result."""

    def is_held(self, name: str, args: Any, key: str) -> bool:
        """Say whether a policy asks about a call that the author does not call an effect."""

    def memory(self, key: str, call: Callable[[Context, str], Any]) -> Any:
        """Return the recorded result of a call of the memory, else make it and record it."""

    def effect(self, tool: RecordedTool, call: Mapping[str, Any], config: Any) -> Any:
        """Carry out a call that changes the outside world, behind its gate and policies."""


# LangGraph copies the context into each thread that it starts.
current_superstep: ContextVar[RunningSuperstep | None] = ContextVar(
    "gatepost_superstep", default=None
)
# The call that an effect makes, in the thread of the node.
effect_call: ContextVar[Callable[[dict[str, Any], str], Any]] = ContextVar(
    "gatepost_langgraph_call"
)
ID_MAX: Final = 80
COMMAND: Final = "$command"
_COMMAND_FIELDS: Final = ("graph", "update", "goto")


@dataclass(frozen=True)
class Effect:
    """Declares that a LangChain tool changes the outside world.

    `gate` is its gate, and policies apply as to any effect; `undo(args, result, *, key)` reverses
    it. `idempotent`, `once` and `describe` as for `gatepost.tool`. The tool's function reads its
    idempotency key from its config: `config["configurable"]["idempotency_key"]`.
    """

    gate: Gate | None = None
    undo: Callable[..., Any] | None = None
    idempotent: bool = False
    once: bool = False
    describe: Callable[[Any, Any], str] | None = None

    def tool(self, inner: BaseTool) -> Tool:
        """Return a Gatepost tool with the arguments that the model is shown."""
        return Tool(
            inner.name,
            _carry_out_function(inner),
            self.undo,
            idempotent=self.idempotent,
            once=self.once,
            describe=self.describe,
        )


def _uncalled(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("A recorded tool is invoked.")


class RecordedTool(BaseTool):
    """Replaces a tool in a ToolNode; a finished call is answered from the record."""

    inner: BaseTool
    serde: Any
    gate: Any = None
    effect: Any = None

    _run = _uncalled

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool, or return the recorded result of the call."""
        step = current_superstep.get()
        if step is None or not isinstance(input, dict) or "id" not in input:
            return called(self.inner, input, config, **kwargs)
        if self.effect is not None:
            return step.effect(self, input, config)
        args = model_args(self.inner, input["args"])
        if step.is_held(self.name, args, call_key(self.name, input)):
            held = Effect(idempotent=True).tool(self.inner)
            return step.effect(self.model_copy(update={"effect": held}), input, config)
        result = step.once(
            self.name,
            {"args": args},
            call_key(self.name, input),
            lambda: packed(self.serde, called(self.inner, input, config, **kwargs)),
        )
        return unpacked(self.serde, result)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool as `invoke` does, in a thread."""
        from langchain_core.runnables.config import run_in_executor

        return await run_in_executor(config, self.invoke, input, config, **kwargs)


def record_tools(
    compiled: CompiledStateGraph[Any, Any, Any, Any],
    effects: Mapping[str, Effect],
    serde: JsonSerializer,
) -> list[Tool]:
    """Record calls of the tools of all ToolNodes; return those that are effects.

    Raises GraphError for an effect that is no tool of the graph.
    """
    made: dict[str, Tool] = {}
    for node in _tool_nodes(compiled):
        for name, tool in node.tools_by_name.items():
            inner = tool.inner if isinstance(tool, RecordedTool) else tool
            effect = effects.get(name)
            if effect is not None and name not in made:
                made[name] = effect.tool(inner)
            node.tools_by_name[name] = RecordedTool(
                name=name,
                description=inner.description,
                args_schema=inner.args_schema,
                return_direct=inner.return_direct,
                inner=inner,
                serde=serde,
                gate=None if effect is None else effect.gate,
                effect=made.get(name),
            )
    if unknown := sorted(effects.keys() - made.keys()):
        raise GraphError(f"{unknown[0]!r} is not a tool of a ToolNode of the graph.")
    return list(made.values())


def _tool_nodes(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> Iterator[ToolNode]:
    graphs: list[Any] = [compiled, *(graph for _, graph in compiled.get_subgraphs(recurse=True))]
    for graph in graphs:
        for node in getattr(graph, "nodes", {}).values():
            if isinstance(getattr(node, "bound", None), ToolNode):
                yield node.bound


def called(inner: BaseTool, input: Any, config: Any = None, **kwargs: Any) -> Any:
    """Call a tool; one that is only async runs in an event loop of its own."""
    if getattr(inner, "func", True) is not None:
        return inner.invoke(input, config, **kwargs)
    return result_of(lambda: inner.ainvoke(input, config, **kwargs))


def model_args(inner: BaseTool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the model chose, without those that LangGraph injects."""
    names = _fields(inner)
    return {name: value for name, value in args.items() if name in names}


def call_key(name: str, call: Mapping[str, Any]) -> str:
    """Return the key of a call, the same whenever the model's answer is read again."""
    ident = str(call["id"])
    if len(ident) > ID_MAX:
        ident = hashlib.sha256(ident.encode()).hexdigest()
    return f"{name[:ID_MAX]}:{ident}"


def packed(serde: JsonSerializer, response: Any) -> Any:
    """Encode the response of a tool as JSON."""
    if isinstance(response, list):
        return [packed(serde, one) for one in response]
    if isinstance(response, Command):
        parts = {name: getattr(response, name) for name in _COMMAND_FIELDS}
        return {COMMAND: serde.encode(parts, "a Command")}
    return serde.encode(response, "the result of a tool")


def unpacked(serde: JsonSerializer, result: Any) -> Any:
    """Decode what `packed` encoded."""
    if isinstance(result, list):
        return [unpacked(serde, one) for one in result]
    if isinstance(result, dict) and COMMAND in result:
        return Command(**serde.decode(result[COMMAND]))
    return serde.decode(result)


def text_message(call: Mapping[str, Any], text: str, *, is_error: bool = False) -> ToolMessage:
    """Make the message that the model reads as the result of a call."""
    status: Any = "error" if is_error else "success"
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status=status)


def with_decision(serde: JsonSerializer, outcome: Outcome, args: Mapping[str, Any]) -> Any:
    """Return the packed result of an effect, with what a reviewer has changed and written."""
    text = ""
    if deltas.canonical(outcome.args) != deltas.canonical(dict(args)):
        text = (
            f"\n\n{outcome.decided_by} changed the arguments to {json.dumps(plain(outcome.args))}."
        )
    if outcome.comment:
        text += f"\n\n{outcome.decided_by}: {outcome.comment}"
    message = unpacked(serde, outcome.result)
    if not text or not isinstance(message, ToolMessage) or not isinstance(message.content, str):
        return outcome.result
    return packed(serde, message.model_copy(update={"content": message.content + text}))


def _fields(inner: BaseTool) -> dict[str, tuple[Any, bool]]:
    """Return (type, is required) by the name of each argument that a model is shown."""
    schema: Any = inner.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        fields = schema.model_fields
        return {name: (field.annotation, field.is_required()) for name, field in fields.items()}
    return dict.fromkeys(inner.args, (Any, True))


def _carry_out_function(inner: BaseTool) -> Callable[..., Any]:
    """Make a function with the arguments of the tool and the key that effects are called with."""

    def carry_out(*, key: str, **args: Any) -> Any:
        return effect_call.get()(args, key)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            name, keyword, annotation=kind, default=inspect.Parameter.empty if required else None
        )
        for name, (kind, required) in _fields(inner).items()
    ]
    parameters.append(inspect.Parameter("key", keyword, annotation=str))
    made: Any = carry_out
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    made.__name__ = inner.name
    made.__doc__ = inner.description
    return carry_out
