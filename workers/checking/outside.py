"""Node code that does by itself what belongs into an activity, as far as its text shows it.

The guard refuses the same when the node works, in the same words; here it is seen before a worker
takes the agent. Only what a name in the code really stands for counts: nothing is guessed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from workers.authoring.graph import Graph
from workers.step.guard import FIX

from .findings import Finding, Voice, shown
from .known_calls import CLIENTS, FUNCTIONS, NETWORK, OF_PATHS, WRITES

_UNKNOWN = object()


def check_outside(graph: Graph) -> Iterator[Finding]:
    """Calls in the nodes and edges of a graph that the guard would refuse."""
    for node in graph.nodes.values():
        for call in (node.call, node.then):
            if callable(call):
                yield from _check(graph.name, f"node {node.name}", inspect.unwrap(call))


def _check(agent: str, path: str, function: Callable[..., Any]) -> Iterator[Finding]:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return  # a lambda in the middle of a line, an object that is called
    names = _names(function)
    for call in sorted(_calls(tree), key=lambda c: (c.lineno, c.col_offset)):
        if what := _does(call, names):
            file = shown(inspect.getsourcefile(function) or "")
            say = Voice(agent, path, file, first + call.lineno - 1)
            yield say.error(
                f"The line {what} outside of an activity: the guard will refuse it.",
                f"{FIX[0].upper()}{FIX[1:]}.",
            )


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """The objects behind the free names of a function."""
    if not inspect.isfunction(function):
        return {}
    result = inspect.getclosurevars(function)
    return {**result.builtins, **result.globals, **result.nonlocals}


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls in the function's own body; functions inside of it may be activities."""
    (outer,) = tree.body if isinstance(tree, ast.Module) and len(tree.body) == 1 else (tree,)
    waiting: list[ast.AST] = list(getattr(outer, "body", ()))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting.extend(ast.iter_child_nodes(node))


def _does(call: ast.Call, names: Mapping[str, Any]) -> str:
    """The side effect of a call; "" where none is known."""
    function = call.func
    result = _stands_for(function, names)
    if result is open:
        mode = next((k.value for k in call.keywords if k.arg == "mode"), None)
        mode = call.args[1] if len(call.args) > 1 else mode
        writes = isinstance(mode, ast.Constant) and not set("wax+").isdisjoint(str(mode.value))
        return WRITES if writes else ""
    name = getattr(result, "__name__", "")
    for module in (getattr(result, "__module__", ""), *_modules(function, names)):
        if what := FUNCTIONS.get(module, {}).get(name):
            return what
    if isinstance(function, ast.Attribute):
        owner = _stands_for(_root(function), names)
        if type(owner).__module__.partition(".")[0] in CLIENTS:
            return NETWORK
        if isinstance(_stands_for(function.value, names), Path):
            return OF_PATHS.get(function.attr, "")
    return ""


def _modules(function: ast.expr, names: Mapping[str, Any]) -> Iterator[str]:
    """The module that a function is taken from: `os.remove` says posix of itself."""
    if isinstance(function, ast.Attribute):
        owner = _stands_for(function.value, names)
        if isinstance(owner, ModuleType):
            yield owner.__name__


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _stands_for(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The object behind a name, a dotted name or a path put together from such."""
    if isinstance(node, ast.Name):
        return names.get(node.id, _UNKNOWN)
    if isinstance(node, ast.Attribute):
        inner = _stands_for(node.value, names)
        return _UNKNOWN if inner is _UNKNOWN else getattr(inner, node.attr, _UNKNOWN)
    if isinstance(node, ast.Call) and _stands_for(node.func, names) is Path:
        return Path()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _stands_for(node.left, names)
    return _UNKNOWN
