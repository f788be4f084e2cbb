"""Tools, and the places in the code where they are called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from checkpoints.state import deltas
from workers.authoring.graph import Tool

from .findings import Finding, Voice, shown, voice

TOOL_NAME_MAX = 190  # a position's key is the tool's name and an ordinal
_UNKNOWN = object()


def check_tool(agent: str, tool: Tool) -> Iterator[Finding]:
    """One tool: how it is called, its schema, its undo."""
    say = voice(agent, f"tool {tool.name}", tool.call)
    if not 1 <= len(tool.name) <= TOOL_NAME_MAX:
        yield say.error("Its name cannot be used.", f"Use 1 to {TOOL_NAME_MAX} characters.")
    try:
        parameters = inspect.signature(tool.call).parameters
        deltas.check(tool.schema)
    except Exception as error:  # whatever a type of the author's raises
        yield say.error(
            f"Its arguments have no JSON Schema: {type(error).__name__}: {error}.",
            "Annotate them with types that JSON knows.",
        )
        return
    kinds = inspect.Parameter
    if any(p.kind is kinds.POSITIONAL_ONLY for p in parameters.values()):
        yield say.error("It takes positional arguments only.", "It is called by names: drop `/`.")
    takes_all = any(p.kind is kinds.VAR_KEYWORD for p in parameters.values())
    if "key" not in parameters and not takes_all:
        yield say.error(
            "It takes no `key`, and is called with one.",
            "Add `*, key: str`: the idempotency key, the same after crash and retry.",
        )
    if tool.undo is None:
        yield say.warning(
            "It has no undo: a rollback leaves what it did.",
            "Declare one: @tool(..., undo=take_back).",
        )
    else:
        try:
            inspect.signature(tool.undo).bind(None, None, key="")
        except TypeError as error:
            yield voice(agent, f"undo of {tool.name}", tool.undo).error(
                f"It cannot be called: {error}.", "Write it as undo(args, result, *, key)."
            )
    if tool.describe is not None and not callable(tool.describe):
        yield say.error(
            "Its describe= is not a function.", "Write it as describe(args, result), a sentence."
        )
    if not tool.idempotent:
        yield say.note(
            "It does not promise to be repeatable: when a worker is lost in it, a person looks.",
            "If the same key never acts twice, say idempotent=True.",
        )


def check_calls(agent: str, parts: list[ModuleType], tools: dict[str, Tool]) -> Iterator[Finding]:
    """Each `ctx.effect(...)` in the sources: a tool, and a gate before it."""
    used: set[str] = set()
    for module in parts:
        file = module.__file__ or ""
        try:
            tree = ast.parse(Path(file).read_text())
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        contexts = _contexts(tree)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _is_effect(call, contexts):
                say = Voice(agent, f"effect in {module.__name__}", shown(file), call.lineno)
                yield from _call(say, call, module, used)
    for name, tool in tools.items():
        if name not in used:
            yield voice(agent, f"tool {name}", tool.call).note(
                "No ctx.effect in these modules names it. A list or dict that holds it may use it."
            )


def _contexts(tree: ast.AST) -> set[str]:
    """The names of the context in these functions; other objects may have an `effect` too."""
    names = {"ctx", "context"}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            words = ast.unparse(node.annotation).replace('"', "").replace("'", "")
            if words.rpartition(".")[2] == "Context":
                names.add(node.arg)
    return names


def _is_effect(call: ast.Call, contexts: set[str]) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "effect"
        and isinstance(function.value, ast.Name)
        and function.value.id in contexts
    )


def _call(say: Voice, call: ast.Call, module: ModuleType, used: set[str]) -> Iterator[Finding]:
    values = {k.arg: k.value for k in call.keywords}
    first = call.args[0] if call.args else values.get("tool")
    result = _UNKNOWN if first is None else _resolved(first, module)
    if result is _UNKNOWN:
        return
    if not isinstance(result, Tool):
        named = ast.unparse(first) if first is not None else "what it calls"
        yield say.error(
            f"{named} is not a tool.", "Declare it with @tool(...), or use ctx.activity."
        )
        return
    used.add(result.name)
    gate = values.get("gate")
    without = gate is None or (isinstance(gate, ast.Constant) and gate.value is None)
    # `**options` may well bring one.
    if without and None not in values and len(call.args) < 3:
        undo = "and cannot be undone" if result.undo is None else "and only a rollback undoes it"
        yield say.warning(
            f"{result.name} happens without anybody's decision, {undo}.",
            "Pass gate=Gate(...), unless that is what you want.",
        )


def _resolved(node: ast.expr, module: ModuleType) -> Any:
    """The object that a name or dotted name of a module stands for."""
    if isinstance(node, ast.Name):
        return getattr(module, node.id, _UNKNOWN)
    if isinstance(node, ast.Attribute):
        inner = _resolved(node.value, module)
        return _UNKNOWN if inner is _UNKNOWN else getattr(inner, node.attr, _UNKNOWN)
    return _UNKNOWN
