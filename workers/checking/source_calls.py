"""External calls of each node, from an agent version's recorded source alone; pure.

Nothing is imported and nothing works: the text of a node's function is read, and that of functions
which it hands its context to. Calls through `ctx` are save points; calls that reach outside without
it happen again whenever the node begins again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .known_calls import CLIENTS, FUNCTIONS, OF_PATHS, WRITES

GUARDED: Final = ("activity", "effect", "model")
DEPTH: Final = 3  # calls of helpers that are followed
IMPORTS: Final = "imports"


@dataclass(frozen=True, slots=True)
class NodeCalls:
    """Calls of a node: (`activity`, `effect` or `model`, name) each, and what is unguarded.

    An unguarded call is written as in the source with what it does: "httpx.get speaks to the
    network".
    """

    guarded: tuple[tuple[str, str], ...] = ()
    unguarded: tuple[str, ...] = ()


def calls_by_node(code: Mapping[str, Any] | None) -> dict[str, NodeCalls]:
    """{node: its calls} of `AgentVersion.code`; empty where nobody recorded any."""
    texts: dict[str, dict[str, str]] = {}
    for part in (code or {}).get("parts", ()):
        if part.get("text") and part["name"]:
            texts.setdefault(part["file"], {})[part["name"]] = part["text"]
    results: dict[str, NodeCalls] = {}
    by_file = {file: _functions(parts) for file, parts in texts.items()}
    everywhere = {name: made for own in by_file.values() for name, made in own.items()}
    for file, own in by_file.items():
        modules = _imported(texts[file].get(IMPORTS, ""))
        for function in own.values():
            if node := _node_name(function):
                guarded = tuple(dict.fromkeys(_guarded(function, everywhere | own, DEPTH)))
                results[node] = NodeCalls(guarded, tuple(_unguarded(function, modules)))
    return results


type _Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(parts: Mapping[str, str]) -> dict[str, _Function]:
    return {
        name.removesuffix("()"): made
        for name, text in parts.items()
        if name.endswith("()") and (made := _function(text)) is not None
    }


def _function(text: str) -> _Function | None:
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    made = body[0] if body else None
    return made if isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _node_name(function: _Function) -> str:
    """The node that a function is declared as; empty for other functions."""
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute):
            if mark.func.attr != "node":
                continue
            named = mark.args[0] if mark.args else None
            named = next((k.value for k in mark.keywords if k.arg == "name"), named)
            if isinstance(named, ast.Constant) and isinstance(named.value, str) and named.value:
                return named.value
            return function.name
    return ""


def _contexts(function: _Function) -> frozenset[str]:
    args = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return frozenset(
        arg.arg
        for arg in args
        if arg.arg in ("ctx", "context")
        or (arg.annotation is not None and ast.unparse(arg.annotation).endswith("Context"))
    )


def _guarded(
    function: _Function, functions: Mapping[str, _Function], depth: int
) -> Iterator[tuple[str, str]]:
    contexts = _contexts(function)
    for call in _in_order(function):
        target = call.func
        if (
            isinstance(target, ast.Attribute)
            and target.attr in GUARDED
            and isinstance(target.value, ast.Name)
            and target.value.id in contexts
        ):
            name = ast.unparse(call.args[0]) if call.args else ""
            yield target.attr, "" if target.attr == "model" else name[:80]
            continue
        helper = functions.get(getattr(target, "id", getattr(target, "attr", "")))
        handed = [*call.args, *(k.value for k in call.keywords)]
        if depth and helper and any(getattr(a, "id", "") in contexts for a in handed):
            yield from _guarded(helper, functions, depth - 1)


def _in_order(function: _Function) -> Sequence[ast.Call]:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _unguarded(function: _Function, modules: Mapping[str, str]) -> Iterator[str]:
    """Calls in the function's own body; functions inside of it may be activities."""
    waiting: list[ast.AST] = list(function.body)
    calls: list[ast.Call] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            calls.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        if what := _does(call, modules):
            yield f"{ast.unparse(call.func)[:80]} {what}"


def _does(call: ast.Call, modules: Mapping[str, str]) -> str:
    """Name what a call does outside, by the names that the module imports; empty where unknown."""
    target = call.func
    if isinstance(target, ast.Name) and target.id == "open" and "open" not in modules:
        mode = next((k.value for k in call.keywords if k.arg == "mode"), None)
        mode = call.args[1] if len(call.args) > 1 else mode
        writes = isinstance(mode, ast.Constant) and not set("wax+").isdisjoint(str(mode.value))
        return WRITES if writes else ""
    if (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Call)
        and _dotted(target.value.func, modules) == "pathlib.Path"
    ):
        return OF_PATHS.get(target.attr, "")
    module, _, name = _dotted(target, modules).rpartition(".")
    if what := FUNCTIONS.get(module, {}).get(name):
        return what
    package = module.partition(".")[0]
    return "speaks to the network" if package in CLIENTS and name[:1].islower() else ""


def _dotted(node: ast.expr, modules: Mapping[str, str]) -> str:
    """A name or dotted name with its import resolved: `get` of `from httpx import get`."""
    if isinstance(node, ast.Name):
        return modules.get(node.id, "")
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, modules)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def _imported(text: str) -> dict[str, str]:
    """{name in the module: what it stands for}."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    results: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for one in node.names:
                bound = one.asname or one.name.partition(".")[0]
                results[bound] = one.name if one.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.module:
            results |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
    return results
