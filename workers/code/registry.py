"""The agents installed in this worker: found by module name, announced as AgentVersion rows."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from checkpoints import queries, store
from checkpoints.agent_versions import version_id
from checkpoints.durabilities import DURABLE, EVERYSEC, HOT
from checkpoints.errors import InvalidValue
from checkpoints.hot.persistence import refusal
from checkpoints.state import deltas
from checkpoints.state.schema_texts import without_descriptions

from ..authoring.ephemeral import check_ephemeral
from ..authoring.errors import GraphError
from ..authoring.former_names import current_name, former_file, former_name
from ..authoring.graph import RESERVED, Graph, Tool
from ..language.configuration import Configured
from ..step.step import Agent
from . import sources
from .source_parts import Part, bounded, parts_of_bytes

log = structlog.get_logger("gatepost.worker")
# Groups of entry points: of the distribution `gatepost-agents`, of packages of others.
SHIPPED_AGENTS = "gatepost.shipped_agents"
AGENTS = "gatepost.agents"
TOOL_TEXTS = "tools"  # where the parts of an agent's code that are docstrings of tools stand


def agent_modules() -> list[str]:
    """The shipped agents unless off, those of other packages, then GATEPOST_AGENTS."""
    groups = [SHIPPED_AGENTS, AGENTS] if settings.GATEPOST_SHIPPED_AGENTS else [AGENTS]
    installed = entry_points()
    named = [entry.module for group in groups for entry in installed.select(group=group)]
    names = [*named, *settings.GATEPOST_AGENTS]
    return list(dict.fromkeys(map(current_name, names)))


def load(modules: Iterable[str] | None = None) -> dict[str, Agent]:
    """Import agent modules, announce what they hold; agents by name.

    A module counts with all modules of its package: graphs and tools may stand in any of them.
    Raises GraphError for two graphs of one name, a module without any, and a hot agent where the
    hot store does not keep what it acknowledges. A hot agent that ships is left out there instead:
    nobody asked for it by name, and the others need no hot store.
    """
    discovered = list(discover(modules))
    unasked = _unasked() if modules is None else set()
    shipped = {g.name for g, _, parts in discovered if any(p.__name__ in unasked for p in parts)}
    left_out = _refused_by_hot_store([graph for graph, _, _ in discovered], shipped)
    return {
        graph.name: announce(graph, tools, parts)
        for graph, tools, parts in discovered
        if graph.name not in left_out
    }


def _unasked() -> set[str]:
    """Modules of agents that ship and that GATEPOST_AGENTS does not name."""
    shipped = {entry.module for entry in entry_points(group=SHIPPED_AGENTS)}
    return shipped - set(map(current_name, settings.GATEPOST_AGENTS))


def _refused_by_hot_store(graphs: Iterable[Graph], unasked: set[str]) -> set[str]:
    """The agents whose steps the hot store would not keep as they acknowledge them.

    Raises GraphError for one that is not among the `unasked`.
    """
    by_kind: dict[bool, list[str]] = {}
    for graph in graphs:
        if graph.durability == HOT and graph.acknowledge != DURABLE:
            by_kind.setdefault(graph.acknowledge == EVERYSEC, []).append(graph.name)
    left_out: set[str] = set()
    for may_lose_seconds, names in by_kind.items():
        why = refusal(may_lose_seconds=may_lose_seconds)
        if not why:
            continue
        if refused := [name for name in names if name not in unasked]:
            raise GraphError(
                f"The agent {refused[0]!r} has durability={HOT!r}, which can't be given. {why}"
            )
        left_out.update(names)
        log.warning("agents.left_out", agents=sorted(names), reason=why)
    return left_out


def discover(
    modules: Iterable[str] | None = None,
) -> Iterator[tuple[Graph, dict[str, Tool], list[ModuleType]]]:
    """Each graph of the modules with the tools and modules beside it; raises as `load` does."""
    seen: dict[str, tuple[Graph, str]] = {}
    for name in agent_modules() if modules is None else modules:
        parts = parts_of(importlib.import_module(name))
        graphs = held(parts, Graph)
        held_tools = held(parts, Tool)
        if not graphs:
            raise GraphError(f"The module {name!r} holds no Graph; is `graph = Graph(...)` there?")
        for graph in graphs:
            known, module = seen.get(graph.name, (graph, name))
            if known is not graph:
                raise GraphError(
                    f"The modules {module!r} and {name!r} each hold an agent named {graph.name!r}. "
                    "Rename one of them, or leave one module out of GATEPOST_AGENTS."
                )
            if graph.name in seen:
                continue  # the same graph by another way: a package and a module of it
            if graph.name in RESERVED:
                raise GraphError(
                    f"The module {name!r} holds an agent named {graph.name!r}: SagaManager keeps "
                    "its threads under this name. Choose another one."
                )
            seen[graph.name] = graph, name
            yield graph, _by_name((*held_tools, *graph.tools), name), parts


def _by_name(tools: Iterable[Tool], module: str) -> dict[str, Tool]:
    """The tools by name; GraphError where two have one name."""
    results: dict[str, Tool] = {}
    for tool in tools:
        if results.setdefault(tool.name, tool) != tool:
            raise GraphError(
                f"The module {module!r} holds two tools named {tool.name!r}. Rename one of them."
            )
    return results


def announce(graph: Graph, tools: dict[str, Tool], parts: Iterable[ModuleType]) -> Agent:
    """Check a graph and enter it as an AgentVersion, so that no other process needs its code."""
    graph.check()
    check_ephemeral(graph, tools)
    parts = list(parts)
    code = code_of(graph, parts)
    fingerprint = fingerprint_of(graph, parts, code)
    # What the version's id is made of.
    content: dict[str, Any] = {
        "agent": graph.name,
        "version": graph.version,
        "fingerprint": fingerprint,
        "schema_version": graph.schema_version,
        # PostgreSQL keeps no order of keys; forms want the author's.
        "schema": graph.state.model_json_schema() | {"x-order": list(graph.state.model_fields)},
        "channels": graph.describe_channels(),
        "graph": graph.describe_graph(),
        "tools": {name: tool.describe_tool() for name, tool in tools.items()},
    }
    try:
        version: UUID = store.announce_version(
            **content,
            label=graph.label or graph.name.replace("-", " ").capitalize(),
            description=graph.description,
            queue=graph.queue,
            code=code,
        )
    except InvalidValue as error:
        raise GraphError(
            f"A name in the agent {graph.name!a} can't be used: {error.reason}. Names are visible "
            "text of one script, in the form NFC, without outer blanks."
        ) from error
    # The former rule sees comments as well, so what it gave when this code was new counts too.
    former = {code["former"], (queries.code_of_version(version) or code)["former"]}
    # The rule before this one saw no docstrings of tools.
    others = [part for part in code["parts"] if part["file"] != TOOL_TEXTS]
    former.add(fingerprint_of(graph, parts, {**code, "parts": others}))
    # And what it gave before its modules moved.
    moved = [{**part, "file": former_file(part["file"])} for part in code["parts"]]
    if moved != code["parts"]:
        former.add(fingerprint_of(graph, parts, {**code, "parts": moved}))
    same = queries.same_code(graph.name, graph.version, [fingerprint, *former])
    same |= {version_id(content | {"fingerprint": f}) for f in former}
    alike = tuple(sorted(same - {version}))
    return Agent(
        graph, tools, version, fingerprint, graph.model or Configured(graph.name), code, alike
    )


def code_of(graph: Graph, parts: Iterable[ModuleType]) -> dict[str, Any]:
    """The parts of the agent, in the form of AgentVersion.code; raises GraphError."""
    parts = list(parts)
    modules, others = sources.own_modules(parts)
    result = sources.parts_of_modules(modules)
    try:
        files = sources.declared_files(graph.home, graph.files)
    except FileNotFoundError as error:
        raise GraphError(f"files={str(error)!r} names no file in {graph.home}.") from None
    for name, path in files.items():
        result += parts_of_bytes(name, path.read_bytes())
    result += _tool_texts(graph, parts)
    return {
        "parts": bounded(result),
        "packages": sources.package_versions(others),
        "former": former_fingerprint_of(graph, parts),
    }


def _tool_texts(graph: Graph, parts: Iterable[ModuleType]) -> list[Part]:
    """The docstrings of tools as parts: a model reads them, so they are prompts."""
    texts = {tool.name: tool.call.__doc__ for tool in (*held(parts, Tool), *graph.tools)}
    texts |= graph.tool_texts
    results = []
    for name, text in sorted(texts.items()):
        if shown := inspect.cleandoc(text or ""):
            (part,) = parts_of_bytes(TOOL_TEXTS, shown.encode("utf-8", "surrogatepass"))
            results.append(replace(part, name=f"the docstring of {name}"))
    return results


def fingerprint_of(
    graph: Graph, parts: Iterable[ModuleType], code: Mapping[str, Any] | None = None
) -> str:
    """sha256 over the agent's own modules and files, in normal form, its graph and schema."""
    code = code_of(graph, parts) if code is None else code
    digests = [[part["file"], part["name"], part["digest"]] for part in code["parts"]]
    schema = without_descriptions(graph.describe_schema())
    content = deltas.canonical([digests, graph.describe_graph(), schema])
    return hashlib.sha256(b"gatepost-agent-2" + content).hexdigest()


def former_fingerprint_of(graph: Graph, parts: Iterable[ModuleType]) -> str:
    """The fingerprint by the rule before: the bytes of the agent's modules, without imports."""
    digest = hashlib.sha256(b"gatepost-agent-1")
    for module in sorted(parts, key=lambda m: former_name(m.__name__)):
        digest.update(former_name(module.__name__).encode() + b"\0")
        if module.__file__:
            digest.update(Path(module.__file__).read_bytes())
    digest.update(deltas.canonical(graph.describe_graph()))
    digest.update(deltas.canonical(graph.describe_schema()))
    return digest.hexdigest()


def parts_of(module: ModuleType) -> list[ModuleType]:
    """A module and, of a package, all modules in it; imports them."""
    parts = [module]
    for info in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
        parts.append(importlib.import_module(info.name))
    return parts


def held[T](parts: Iterable[ModuleType], kind: type[T]) -> list[T]:
    """Objects of a kind in the modules, each once, in the order of their definition."""
    results: dict[int, T] = {}
    for module in parts:
        for value in vars(module).values():
            if isinstance(value, kind):
                results.setdefault(id(value), value)
    return list(results.values())
