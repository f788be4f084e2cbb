"""Import a module as a worker does, and look at everything that it holds."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import traceback
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from workers.authoring.errors import GraphError
from workers.authoring.graph import Graph, Tool
from workers.code import registry

from .effects import check_calls, check_tool
from .findings import Finding, shown
from .graphs import check_graph
from .outside import check_outside


def examine(name: str) -> dict[str, Any]:
    """{"agents": [...], "findings": [...]} of one module."""
    findings: list[Finding] = []
    agents: list[dict[str, Any]] = []
    try:
        parts = registry.parts_of(importlib.import_module(name))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"agents": [], "findings": [asdict(import_finding(name, error))]}
    graphs = registry.held(parts, Graph)
    tools = {t.name: t for t in registry.held(parts, Tool)}
    if not graphs:
        message = "It holds no Graph, in none of its modules."
        fix = "Is `graph = Graph(...)` there, at the top of a module?"
        findings.append(Finding("error", "", f"module {name}", message, fix, _file(parts[0])))
    taken = _names_elsewhere(name)
    seen: set[str] = set()
    for graph in graphs:
        if graph.name in seen or graph.name in taken:
            other = taken.get(graph.name, name)
            message = f"The module {other} holds an agent of this name too."
            fix = "Rename one of them: a worker takes neither."
            findings.append(Finding("error", graph.name, "graph", message, fix, _file(parts[0])))
        seen.add(graph.name)
        findings += check_graph(graph)
        findings += check_outside(graph)
        agents.append(_described(graph, tools, parts, findings))
    owner = graphs[0].name if graphs else ""
    for tool in tools.values():
        findings += check_tool(owner, tool)
    findings += check_calls(owner, parts, tools)
    return {"agents": agents, "findings": [asdict(finding) for finding in findings]}


def _described(
    graph: Graph, tools: dict[str, Tool], parts: list[ModuleType], findings: list[Finding]
) -> dict[str, Any]:
    results: dict[str, Any] = {
        "name": graph.name,
        "version": graph.version,
        "schema_version": graph.schema_version,
        "queue": graph.queue,
        "on_code_change": graph.on_code_change,
        "nodes": list(graph.nodes),
        "tools": list(tools),
        "fingerprint": "",
        "schema": {},
        "code": {},
    }
    if not any(f.level == "error" for f in findings):
        try:
            results["code"] = registry.code_of(graph, parts)
        except GraphError as error:
            fix = "Correct the glob, or take it out."
            findings.append(Finding("error", graph.name, "graph", error.message, fix))
            return results
        results["fingerprint"] = registry.fingerprint_of(graph, parts, results["code"])
        results["schema"] = graph.describe_schema()
    return results


def import_finding(name: str, error: BaseException) -> Finding:
    """Explain why a module cannot be imported, at the author's own line."""
    path, message = f"module {name}", f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name and name.startswith(error.name):
        fix = "Is its folder in PYTHONPATH, and is it written package.module?"
        return Finding("error", "", path, f"There is no module {error.name!r}.", fix)
    if isinstance(error, ModuleNotFoundError):
        fix = f"Install {error.name} where the worker is."
        return Finding("error", "", path, f"It needs {error.name!r}, which is not there.", fix)
    if isinstance(error, SyntaxError):
        file, line = shown(error.filename or ""), error.lineno or 0
        return Finding("error", "", path, f"{error.msg}.", "Correct the line.", file, line)
    frames = traceback.extract_tb(error.__traceback__)
    # The last line of the author's own code; below it stand our modules or a library's.
    own = [f for f in frames if not _foreign(f.filename)]
    file, line = (shown(own[-1].filename), own[-1].lineno or 0) if own else ("", 0)
    return Finding(
        "error", "", path, message, "Correct it: nothing may fail at import.", file, line
    )


def _foreign(file: str) -> bool:
    floor = Path(registry.__file__).parents[1]
    path = Path(file)
    return (
        file.startswith("<frozen")
        or "site-packages" in path.parts
        or path == Path(importlib.__file__)
        or path.is_relative_to(floor)
    )


def _names_elsewhere(name: str) -> dict[str, str]:
    """{agent: module} of the other installed modules, read from their sources: `Graph("name"`.

    Importing them as well would cost seconds, and their faults are not this module's.
    """
    results: dict[str, str] = {}
    for other in registry.agent_modules():
        if other == name or other.startswith(f"{name}.") or name.startswith(f"{other}."):
            continue
        for path in _sources(other):
            try:
                text = path.read_text()
                tree = ast.parse(text) if "Graph(" in text else ast.Module([], [])
            except (OSError, SyntaxError, UnicodeDecodeError):
                continue
            results |= dict.fromkeys(filter(None, map(_graph_name, ast.walk(tree))), other)
    return results


def _sources(module: str) -> list[Path]:
    """The files of a module, or of a package with all that is in it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders:
        return [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    return [Path(spec.origin)] if spec.origin else []


def _graph_name(node: ast.AST) -> str:
    """The name in `Graph("name", ...)`; nothing for any other piece of code."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)):
        return ""
    called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    values = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
    if called != "Graph" or not values or not isinstance(values[0], ast.Constant):
        return ""
    return str(values[0].value)


def _file(module: ModuleType) -> str:
    return shown(module.__file__ or "")
