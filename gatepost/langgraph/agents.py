"""Make an agent of a compiled graph of LangGraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langgraph.channels.delta import DeltaChannel
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore

from gatepost import END, Context, Graph, GraphError, State, Way
from gatepost_client.langgraph import JsonSerializer

from .breakpoints import Breakpoints
from .channels import ABOUT, Channels
from .superstep import START, Superstep
from .tools import Effect, record_tools

RECURSION_LIMIT: Final = 10_000


@dataclass
class CompiledGraph(Graph):
    """A graph whose next nodes LangGraph chooses: every node may follow every other one.

    `edges` are the targets that LangGraph draws, by the node that they leave.
    """

    edges: Mapping[str, list[str]] = field(default_factory=dict)

    def describe_graph(self) -> dict[str, Any]:
        """Describe the graph with the edges that LangGraph draws."""
        description = super().describe_graph()
        for node in description["nodes"]:
            to = self.edges.get(node["name"], [])
            node["then"] = [name for name in to if name in self.nodes]
            node["ends"] = END in to
            node["conditional"] = len(to) > 1
        return description


def from_langgraph(
    compiled: CompiledStateGraph[Any, Any, Any, Any],
    *,
    name: str,
    effects: Mapping[str, Effect] | None = None,
    types: Iterable[type] = (),
    config: Mapping[str, Any] | None = None,
    context: Any = None,
    recursion_limit: int | None = None,
    **graph: Any,
) -> Graph:
    """Make an agent of a compiled graph; a thread starts with the values of its channels.

    Each superstep is a step of the thread. Calls of tools in a ToolNode are activities, those of
    the tools that `effects` names are effects with their gates. `types` are classes of yours that
    may occur in the state. The graph is run with `config` and `context`; `graph` are arguments of
    Graph. Raises GraphError for a graph that cannot run here.
    """
    _check(compiled)
    serde = JsonSerializer(types)
    channels = Channels(compiled, serde)
    tools = record_tools(compiled, effects or {}, serde)
    own: dict[str, Any] = {**(compiled.config or {}), **(config or {})}
    limit = recursion_limit or own.get("recursion_limit", RECURSION_LIMIT)
    stops = Breakpoints.of(compiled)
    options = {"config": own, "context": context, "recursion_limit": limit}
    options |= {"breakpoints": stops, "in_loop": _needs_loop(compiled)}
    made = CompiledGraph(
        name,
        channels.state_class(re.sub(r"\W", "_", name).strip("_").title() or "State"),
        tools=[*graph.pop("tools", ()), *tools],
        edges=_drawn_edges(compiled),
        **graph,
    )

    def next_nodes(state: Any) -> Way:
        names = list(state.langgraph["next"])
        return Way(names or END, "LangGraph chose it" if names else "the graph has ended")

    def node_function(node: str) -> Callable[[State, Context], dict[str, Any]]:
        def work(state: State, ctx: Context) -> dict[str, Any]:
            values = channels.values(state)
            ready = set(values[ABOUT].get("next", [START]))
            # The first node of the step runs all: only LangGraph can merge their writes.
            if node != next(title for title in made.nodes if title in ready):
                return {}
            return Superstep(compiled, channels, ctx, options).run(values)

        return work

    names = [START, *(title for title in compiled.nodes if title != START)]
    for title in names:
        label = "Start" if title == START else title.replace("_", " ")
        has_gate = title != START and (title in stops or _has_effect(compiled, title))
        made.node(
            title, then=next_nodes, ways=(*names, END), label=label, gate=has_gate, join=False
        )(node_function(title))
    return made


def _check(compiled: Any) -> None:
    """Refuse graphs that cannot run one superstep at a time."""
    if not isinstance(compiled, CompiledStateGraph):
        raise GraphError(
            f"from_langgraph takes a compiled StateGraph, not {type(compiled).__name__}: "
            "builder.compile()."
        )
    for path, graph in _graphs(compiled):
        if isinstance(graph.store, InMemoryStore):
            raise GraphError(
                f"{f'The subgraph {path!r}' if path else 'The graph'} was compiled with an "
                "InMemoryStore, which a worker forgets: compile it with a GatepostStore, which "
                "keeps items in memory and on record, or without `store`."
            )
        if path and (graph.interrupt_before_nodes or graph.interrupt_after_nodes):
            raise GraphError(
                f"The subgraph {path!r} was compiled with interrupt_before or interrupt_after, "
                "which only the outer graph may have here: use interrupt() in its nodes."
            )
        if path and graph.checkpointer is True:
            raise GraphError(
                f"The subgraph {path!r} keeps a memory of its own (checkpointer=True), which is "
                "not possible here: keep it in a channel."
            )
        for channel, spec in graph.channels.items():
            if isinstance(spec, DeltaChannel):
                raise GraphError(
                    f"The channel {channel!r} is a DeltaChannel, which is not possible here: "
                    "take a plain reducer. A thread stores only what is added in any case."
                )


def _graphs(compiled: Any) -> list[tuple[str, Any]]:
    """Return (path, graph) of the graph, whose path is empty, and of its subgraphs."""
    return [("", compiled), *compiled.get_subgraphs(recurse=True)]


def _needs_loop(compiled: Any) -> bool:
    """Return whether a node or a branch of the graphs is only async."""
    parts: list[Any] = []
    for _, graph in _graphs(compiled):
        parts += [getattr(node, "bound", None) for node in graph.nodes.values()]
        branches = getattr(getattr(graph, "builder", None), "branches", {})
        parts += [branch.path for named in branches.values() for branch in named.values()]
    return any(getattr(part, "func", True) is None for part in parts)


def _drawn_edges(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> dict[str, list[str]]:
    targets: dict[str, list[str]] = {}
    for edge in compiled.get_graph().edges:
        targets.setdefault(edge.source, []).append(edge.target)
    return targets


def _has_effect(compiled: CompiledStateGraph[Any, Any, Any, Any], title: str) -> bool:
    tools = getattr(getattr(compiled.nodes[title], "bound", None), "tools_by_name", {})
    return any(getattr(tool, "effect", None) is not None for tool in tools.values())
