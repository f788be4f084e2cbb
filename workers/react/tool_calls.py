"""Tools as a model is shown them, and one call of them: an activity, or an effect with its gate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from pydantic import TypeAdapter, ValidationError

from checkpoints.state import deltas, marked
from checkpoints.state.schema_texts import with_definitions

from ..authoring.errors import Expired, GraphError, OutsideActivity, Rejected
from ..authoring.frozen import plain
from ..authoring.messages import ToolCall, checked_call, text_of
from ..authoring.tools import Gate, Tool

if TYPE_CHECKING:
    from ..node.context import Context

# What ctx.activity takes by name for itself.
OWN_NAMES: Final = frozenset({"self", "call", "key", "retry", "cached"})
NAME_MAX: Final = 64


@dataclass(frozen=True)
class LoopTool:
    """A tool of a loop. A plain function is called as an activity, a `Tool` as an effect."""

    tool: Tool
    is_effect: bool
    gate: Gate | None = None

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The tool as a model is shown it: name, description and JSON Schema of the arguments."""
        description = inspect.cleandoc(self.tool.call.__doc__ or "")
        schema = with_definitions(self.tool.schema)
        return {"name": self.tool.name, "description": description, "schema": schema}

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        hints = get_type_hints(self.tool.call, include_extras=True)
        return {name: TypeAdapter(hint) for name, hint in hints.items() if name != "return"}

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The author's function, called with values of the types that it names."""
        call = self.tool.call

        @wraps(call)
        def called(**arguments: Any) -> Any:
            return call(**self._converted(arguments))

        return called

    def fault(self, arguments: Mapping[str, Any]) -> str:
        """Explain why the function cannot take these arguments, with the path; "" if it can."""
        try:
            self._converted(arguments)
        except _Unfit as error:
            return str(error)
        return ""

    def _converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = {}
        for name, value in arguments.items():
            try:
                adapter = self._adapters.get(name)
                values[name] = adapter.validate_python(value) if adapter else value
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                path = deltas.at("$", name)
                for key in first["loc"]:
                    path = deltas.at(path, key)
                raise _Unfit(f"{path}: {first['msg']}") from error
        return values


class _Unfit(ValueError):
    """Arguments that are not of the types that a function names."""


def loop_tools(
    tools: Sequence[Tool | Callable[..., Any]], gates: Mapping[str, Gate]
) -> dict[str, LoopTool]:
    """The tools by name; GraphError for one that a model cannot be shown."""
    result: dict[str, LoopTool] = {}
    for value in tools:
        is_effect = isinstance(value, Tool)
        if not callable(value):
            raise GraphError(f"tools= takes functions and tools, not {type(value).__name__}.")
        name = value.name if isinstance(value, Tool) else getattr(value, "__name__", "")
        tool = value if isinstance(value, Tool) else Tool(name, value)
        if not name or name == "<lambda>" or len(name) > NAME_MAX:
            raise GraphError(
                f"A tool needs a name of at most {NAME_MAX} characters: use a named function."
            )
        if name in result:
            raise GraphError(f"There are two tools named {name!r}.")
        if not (tool.call.__doc__ or "").strip():
            raise GraphError(
                f"The tool {name!r} needs a docstring: the model reads it to choose the tool."
            )
        if not is_effect and (taken := OWN_NAMES & tool.signature.parameters.keys()):
            raise GraphError(f"The tool {name!r} has an argument {min(taken)!r}: rename it.")
        if name in gates and not is_effect:
            raise GraphError(
                f"There is a gate before {name!r}, which is a plain function: a gate stands before "
                f"an effect, so put @tool({name!r}, undo=...) over it."
            )
        result[name] = LoopTool(tool, is_effect, gates.get(name))
        _ = result[name].shown
    if strange := sorted(gates.keys() - result.keys()):
        raise GraphError(f"There is a gate before {strange[0]!r}, and no such tool.")
    return result


def carry_out(ctx: Context, tools: Mapping[str, LoopTool], call: Mapping[str, Any]) -> str:
    """Carry out one call and return the text for the model; a failure is a text as well."""
    value = ToolCall(**plain(dict(call)))
    value = checked_call(value, [tool.shown for tool in tools.values()])
    tool = tools.get(value.name)
    if tool is None:
        names = ", ".join(sorted(tools)) or "none"
        return f"Error: there is no tool {value.name!r}. The tools are: {names}."
    arguments = value.arguments or {}
    if why := value.error or tool.fault(arguments):
        return f"Error: the arguments do not fit. {why}"
    try:
        return _result(ctx, tool, arguments)
    except Rejected as refusal:
        return f"Rejected by {refusal.by}, not carried out: {refusal.comment or 'no reason given'}"
    except Expired:
        return "Not carried out: nobody decided in time."
    except (OutsideActivity, MemoryError):
        raise
    except Exception as error:
        # The record has it as failed; what passes by itself was tried again before.
        return f"Error: {ctx.error_text(error)}"


def _result(ctx: Context, tool: LoopTool, arguments: dict[str, Any]) -> str:
    if not tool.is_effect:
        return text_of(marked.mark(plain(ctx.activity(tool.function, **arguments))))
    outcome = ctx.effect(tool.tool, arguments, gate=tool.gate)
    text = text_of(marked.mark(plain(outcome.result)))
    if deltas.canonical(outcome.args) != deltas.canonical(arguments):
        text = f"{text}\n\n{outcome.decided_by} changed the arguments to {text_of(outcome.args)}."
    return f"{text}\n\n{outcome.decided_by}: {outcome.comment}" if outcome.comment else text
