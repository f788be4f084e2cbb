"""A graph: names, ways, nodes, the state's schema and defaults."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from checkpoints.errors import GatepostError
from checkpoints.state import deltas
from workers.authoring.graph import END, RESERVED, Graph, Node, State
from workers.authoring.state_view import PLAIN_NODE

from .findings import Finding, voice

NAME_MAX = 100
JOINS_EXPLAINED = 200  # nodes; beyond that it would take seconds
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_FORBIDDEN = re.compile(r"[\s/|\x00-\x1f\x7f]")


def check_graph(graph: Graph) -> Iterator[Finding]:
    """Everything about one graph."""
    yield from _names(graph)
    yield from _ways(graph)
    for node in graph.nodes.values():
        yield from _node(graph, node)
    yield from _schema(graph)
    yield from _schema_version(graph)


def _names(graph: Graph) -> Iterator[Finding]:
    say = voice(graph.name, "graph")
    if not 1 <= len(graph.name) <= NAME_MAX or _FORBIDDEN.search(graph.name):
        yield say.error(
            f"The name {graph.name!r} cannot be used.",
            f"Use small letters, digits and hyphens, at most {NAME_MAX}.",
        )
    elif graph.name in RESERVED:
        yield say.error(
            f"The name {graph.name!r} is Gatepost's own: SagaManager keeps its threads under it.",
            "Choose another name.",
        )
    elif not _NAME.fullmatch(graph.name):
        yield say.warning(
            f"The name {graph.name!r} is hard to type.", "Use small letters, digits and hyphens."
        )
    if not 1 <= len(graph.queue) <= NAME_MAX or _FORBIDDEN.search(graph.queue):
        yield say.error(f"The queue {graph.queue!r} cannot be used.", "Name it like an agent.")
    for name, number in (("version", graph.version), ("schema_version", graph.schema_version)):
        if type(number) is not int or not 1 <= number < 2**31:
            yield say.error(f"{name} is {number!r}.", "Count versions from 1, in whole numbers.")
    for name in graph.nodes:
        if len(name) > NAME_MAX:
            yield say.error(f"A node's name has {len(name)} characters.", f"Use {NAME_MAX}.")


def _ways(graph: Graph) -> Iterator[Finding]:
    if not graph.nodes:
        yield voice(graph.name, "graph").error(
            "It has no nodes.", "Declare one: @graph.node(then=END)."
        )
        return
    for node in graph.nodes.values():
        for target in node.leads:
            if target != END and target not in graph.nodes:
                yield voice(graph.name, f"node {node.name}", node.call).error(
                    f"It leads to {target!r}, and there is no such node.",
                    f"Name one of {', '.join(graph.nodes)}, or END.",
                )
    yield from _joins(graph)
    ways = {name: set(node.leads) for name, node in graph.nodes.items()}
    reached = _closure(ways, set(graph.entry))
    for name, node in graph.nodes.items():
        if name not in reached:
            yield voice(graph.name, f"node {name}", node.call).warning(
                f"No way from {graph.entry[0]!r} leads here.",
                "Lead to it with then=..., or take it out.",
            )
    if END not in reached:
        yield voice(graph.name, "graph").warning(
            "No way leads to END: its threads never end by themselves.",
            "Give one node then=END, or an edge that may answer END.",
        )


def _joins(graph: Graph) -> Iterator[Finding]:
    """Say which nodes wait for branches of unequal length."""
    if len(graph.nodes) > JOINS_EXPLAINED:
        return
    for name, node in graph.nodes.items():
        for origin in graph.nodes.values():
            lengths = () if callable(origin.then) else graph.joins.lengths(origin.ways, name)
            if len(lengths) < 2:
                continue
            message = f"{' and '.join(map(str, lengths))} steps"
            yield voice(graph.name, f"node {name}", node.call).note(
                f"Branches from {origin.name!r} arrive here after {message}: it waits for those "
                "under way and runs once.",
                "With join=False it runs at each arrival.",
            )
            break


def _closure(ways: Mapping[str, set[str]], begun: set[str]) -> set[str]:
    """Every name that can be reached."""
    reached, open_ones = set(begun), list(begun)
    while open_ones:
        for following in ways.get(open_ones.pop(), ()):
            if following not in reached:
                reached.add(following)
                open_ones.append(following)
    return reached


def _node(graph: Graph, node: Node) -> Iterator[Finding]:
    say = voice(graph.name, f"node {node.name}", node.call)
    if inspect.iscoroutinefunction(node.call) or inspect.isgeneratorfunction(node.call):
        yield say.error(
            "A node is a plain function.",
            PLAIN_NODE,
        )
    for what, call, value in (
        ("node", node.call, (None, None)),
        ("edge", node.then, (None,)),
    ):
        if not callable(call):
            continue
        try:
            inspect.signature(call).bind(*value)
        except TypeError as error:
            form = "(state, ctx)" if what == "node" else "(state)"
            yield say.error(f"Its {what} cannot be called: {error}.", f"Write it as {form}.")
        except ValueError:
            continue


def _schema(graph: Graph) -> Iterator[Finding]:
    state = graph.state
    say = voice(graph.name, "state", state)
    if not (isinstance(state, type) and issubclass(state, State)):
        yield say.error(f"{state!r} is not a State.", "Derive it: class Mine(State).")
        return
    try:
        deltas.check(graph.describe_schema())
        channels = graph.describe_channels()
    except Exception as error:  # whatever a type of the author's raises
        yield say.error(
            f"It has no JSON Schema: {type(error).__name__}: {_first(error)}.",
            "Use types that JSON knows: str, int, float, bool, list, dict, models of those.",
        )
        return
    needed = []
    hints = get_type_hints(state, include_extras=True)
    for name, channel in channels.items():
        at = voice(graph.name, f"channel {name}", state)
        if "default" not in channel:
            needed.append(name)
            continue
        try:
            deltas.check(channel["default"])
            TypeAdapter(hints[name]).validate_json(json.dumps(channel["default"]))
        except (GatepostError, ValidationError, TypeError, ValueError) as error:
            yield at.error(
                f"Its default does not fit its type: {_first(error)}.", "Correct one of them."
            )
    if needed:
        yield say.note(f"Each start must give {', '.join(needed)}.")


def _schema_version(graph: Graph) -> Iterator[Finding]:
    if type(graph.schema_version) is not int or graph.schema_version <= 1:
        return
    try:
        graph.upgrades.plan(1, graph.schema_version)
    except GatepostError as error:
        yield voice(graph.name, "state", graph.state).warning(
            error.message,
            "Register it with @graph.upgrades.step(...), or threads that stopped with an older "
            "schema cannot continue.",
        )


def _first(error: Any) -> str:
    """The first line of an error, without the address of a manual."""
    if isinstance(error, ValidationError):
        return error.errors(include_url=False)[0]["msg"].rstrip(".")
    return " ".join(str(error).strip().splitlines()[:3])[:300].rstrip(".")
