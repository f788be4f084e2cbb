"""Layout of an agent's graph in layers, and the plan of its nodes; pure, from stored rows only.

The graph is the JSON of an AgentVersion: {"entry": [names], "nodes": [{"name", "then": [names],
"label", "gate"}]}. A name in `then` that is no node means the end. What was visited
comes from the checkpoints on the head's way, so it can be drawn when the agent's code is gone.
Nodes that differ by a number alone, such as the calls of one answer, are drawn as one (`folded`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from workers.checking.source_calls import NodeCalls

from .layers import END, LABEL_MAX, layers_of, positions, route, targets_of, width_of

NODE_H, LAYER_GAP, MARGIN = 28, 22, 8
MIN_WIDTH = 268
MAX_NODES = 40
ALIKE = 4  # from this number on, nodes that differ by a number alone are drawn as one
_NUMBERED = re.compile(r"(.*\D)1")


class Stop(Protocol):
    """A checkpoint on the head's way, as far as a drawing needs it."""

    @property
    def id(self) -> UUID: ...

    @property
    def nodes(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class FoldedStop:
    """A checkpoint whose nodes go by the names of a folded graph."""

    id: UUID
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trail:
    """Visits on the head's path: times per node, edges taken, last checkpoint of each node."""

    visits: Mapping[str, int]
    taken: frozenset[tuple[str, str]]
    last: Mapping[str, UUID]
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A node; x, y are its left top corner. state: done, now, todo or end.

    `calls` counts its external calls that are save points, `unguarded` those that are not.
    """

    name: str
    text: str
    label: str
    x: float
    y: float
    w: float
    state: str
    visits: int
    gate: bool
    calls: int = 0
    unguarded: int = 0

    @property
    def ring(self) -> float:
        """Width of the ring around the current node."""
        return round(self.w + 8, 1)


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow; `back` edges go up on the right side, `label` says how often one was taken."""

    path: str
    taken: bool
    back: bool
    label: str = ""
    x: float = 0
    y: float = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """The drawing, and the same in words; over MAX_NODES nodes only `layers` is filled."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    layers: tuple[tuple[str, ...], ...]
    summary: str
    too_big: bool = False


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A node by name: done (with the checkpoint it wrote last), now or todo."""

    name: str
    label: str
    state: str
    visits: int
    checkpoint: UUID | None
    gate: bool


def ahead(graph: Mapping[str, Any], current: Sequence[str], *, begun: bool) -> frozenset[str]:
    """The nodes that can still come; those of `current` where they have not begun or come again."""
    then = {node["name"]: targets_of(node) for node in graph.get("nodes", ())}
    results: set[str] = set() if begun else {name for name in current if name in then}
    left = [name for node in current for name in then.get(node, ())]
    while left:
        name = left.pop()
        if name in then and name not in results:
            results.add(name)
            left += then[name]
    return frozenset(results)


def folded(
    graph: Mapping[str, Any], path: Sequence[Stop], current: Sequence[str]
) -> tuple[Mapping[str, Any], Sequence[Stop], Sequence[str]]:
    """Graph, path and current nodes with one node in place of `ALIKE` or more that are alike.

    Alike are `call_1`, `call_2` and so on that lead to the same nodes and all have a gate or none.
    The first of them stands for all: "Tool call 1–8".
    """
    nodes = {node["name"]: node for node in graph.get("nodes", ())}
    first: dict[str, str] = {}
    labels: dict[str, dict[str, Any]] = {}
    for name, node in nodes.items():
        match = _NUMBERED.fullmatch(name)
        form = (targets_of(node), bool(node.get("gate")))
        count = 1
        while match and (other := nodes.get(f"{match[1]}{count + 1}")):
            if (targets_of(other), bool(other.get("gate"))) != form:
                break
            count += 1
        if match and count >= ALIKE:
            first |= {f"{match[1]}{n}": name for n in range(1, count + 1)}
            more = f"–{count}"
            label = (node.get("label") or name.replace("_", " ").capitalize()) + more
            labels[name] = {"label": label, "text": name + more}
    if not first:
        return graph, path, current

    def names(some: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(first.get(name, name) for name in some))

    drawn = [
        {**node, "then": list(names(targets_of(node))), **labels.get(name, {})}
        for name, node in nodes.items()
        if first.get(name, name) == name
    ]
    stops = [FoldedStop(row.id, names(row.nodes)) for row in path]
    return (
        {**graph, "entry": list(names(graph.get("entry", ()))), "nodes": drawn},
        stops,
        names(current),
    )


def trail(graph: Mapping[str, Any], path: Sequence[Stop]) -> Trail:
    """Follow `path` (newest first, as `lineage.head_path` gives it) through the graph."""
    then = {node["name"]: targets_of(node) for node in graph.get("nodes", ())}
    visits: dict[str, int] = {}
    last: dict[str, UUID] = {}
    taken: set[tuple[str, str]] = set()
    before: tuple[str, ...] = ()
    for row in reversed(path):
        for name in row.nodes:
            visits[name] = visits.get(name, 0) + 1
            last[name] = row.id
            taken.update((a, name) for a in before if name in then.get(a, ()))
        before = tuple(row.nodes) or before
    return Trail(visits, frozenset(taken), last, before)


def plan(
    graph: Mapping[str, Any], path: Sequence[Stop], *, current: Sequence[str] = ()
) -> list[PlanStep]:
    """Steps done and awaited by name, layer by layer; `current` is being worked or waited on."""
    graph, path, current = folded(graph, path, current)
    nodes = {node["name"]: node for node in graph.get("nodes", ())}
    walked = trail(graph, path)
    return [
        PlanStep(
            name=name,
            label=nodes[name].get("label") or name.replace("_", " ").capitalize(),
            state="now" if name in current else "done" if name in walked.visits else "todo",
            visits=walked.visits.get(name, 0),
            checkpoint=walked.last.get(name),
            gate=bool(nodes[name].get("gate")),
        )
        for layer in layers_of(graph)[0]
        for name in layer
        if name != END
    ]


def picture(
    graph: Mapping[str, Any],
    path: Sequence[Stop],
    *,
    current: Sequence[str] = (),
    finished: bool = False,
    calls: Mapping[str, NodeCalls] | None = None,
) -> Picture:
    """Place the nodes in layers from the entry down; loops go back on the right side.

    `finished` draws the last arrow to the end as taken; `calls` are the external calls by node.
    """
    graph, path, current = folded(graph, path, current)
    nodes = {node["name"]: node for node in graph.get("nodes", ())}
    layers, back = layers_of(graph)
    walked = trail(graph, path)
    summary = _summary(walked, current, finished)
    names = tuple(tuple(n for n in layer if n != END) for layer in layers)
    if len(nodes) > MAX_NODES or not nodes:
        return Picture(MIN_WIDTH, 0, (), (), names, summary, too_big=bool(nodes))
    chains, ordered = route(nodes, layers, back)
    texts = {name: node.get("text") or name for name, node in nodes.items()}
    widths = {n: width_of(texts.get(n, n)) for layer in ordered for n in layer}
    centre = positions(ordered, chains, widths)
    left = min(centre[n] - widths[n] / 2 for layer in ordered for n in layer) - MARGIN
    right = max(centre[n] + widths[n] / 2 for layer in ordered for n in layer)
    lane = 18 + 12 * len(back) if back else 0
    width = max(MIN_WIDTH, right - left + MARGIN + lane)
    shift = -left + (width - (right - left + MARGIN + lane)) / 2
    for n in centre:
        centre[n] += shift
    top = {n: MARGIN + i * (NODE_H + LAYER_GAP) for i, layer in enumerate(ordered) for n in layer}
    taken = set(walked.taken)
    taken |= {(a, b) for a in walked.tail for b in current}
    if finished:
        taken |= {(a, END) for a in walked.tail}
    return Picture(
        width=round(width, 1),
        height=MARGIN * 2 + len(ordered) * (NODE_H + LAYER_GAP) - LAYER_GAP,
        boxes=tuple(_boxes(nodes, ordered, widths, centre, top, walked, current, calls or {})),
        edges=(
            *_forward(chains, centre, top, taken),
            *_backward(back, widths, centre, top, taken, walked),
        ),
        layers=names,
        summary=summary,
    )


def _boxes(
    nodes: Mapping[str, Mapping[str, Any]],
    ordered: Sequence[Sequence[str]],
    widths: Mapping[str, float],
    centre: Mapping[str, float],
    top: Mapping[str, float],
    walked: Trail,
    current: Sequence[str],
    calls: Mapping[str, NodeCalls],
) -> Iterable[Box]:
    for layer in ordered:
        for name in layer:
            if name == END:
                yield Box(
                    END,
                    "",
                    "End",
                    round(centre[name] - 6, 1),
                    top[name] + 8,
                    12,
                    "end",
                    0,
                    False,
                )
            elif name in nodes:
                node = nodes[name]
                text = node.get("text") or name
                text = text if len(text) <= LABEL_MAX else text[: LABEL_MAX - 1] + "…"
                state = "now" if name in current else "done" if name in walked.visits else "todo"
                yield Box(
                    name,
                    text,
                    node.get("label") or name,
                    round(centre[name] - widths[name] / 2, 1),
                    top[name],
                    round(widths[name], 1),
                    state,
                    walked.visits.get(name, 0),
                    bool(node.get("gate")),
                    len(calls[name].guarded) if name in calls else 0,
                    len(calls[name].unguarded) if name in calls else 0,
                )


def _forward(
    chains: Sequence[Sequence[str]],
    centre: Mapping[str, float],
    top: Mapping[str, float],
    taken: Collection[tuple[str, str]],
) -> Iterable[Edge]:
    for chain in chains:
        first, last = chain[0], chain[-1]
        x, y = centre[first], top[first] + NODE_H
        path = f"M{x:.1f} {y:.1f}"
        for stop in chain[1:]:
            goal_x = centre[stop]
            goal_y = top[stop] + (8 if stop == END else 0) - (4 if stop == last else 0)
            if abs(goal_x - x) < 0.5:
                path += f"V{goal_y:.1f}"
            else:
                middle = (y + goal_y) / 2
                path += f"C{x:.1f} {middle:.1f} {goal_x:.1f} {middle:.1f} {goal_x:.1f} {goal_y:.1f}"
            if stop != last:
                path += f"v{NODE_H}"
                goal_y += NODE_H
            x, y = goal_x, goal_y
        yield Edge(path, (first, last) in taken, back=False)


def _backward(
    back: Sequence[tuple[str, str]],
    widths: Mapping[str, float],
    centre: Mapping[str, float],
    top: Mapping[str, float],
    taken: Collection[tuple[str, str]],
    walked: Trail,
) -> Iterable[Edge]:
    for i, (source, target) in enumerate(back):
        y1, y2 = top[source] + NODE_H / 2, top[target] + NODE_H / 2
        x1, x2 = centre[source] + widths[source] / 2, centre[target] + widths[target] / 2
        between = [
            centre[n] + widths[n] / 2
            for n in centre
            if min(y1, y2) - NODE_H <= top[n] <= max(y1, y2)
        ]
        reach = max(between) + 16 + 12 * i
        if source == target:
            y1, y2 = y1 + 6, y1 - 6
        path = (
            f"M{x1:.1f} {y1:.1f}C{reach + 8:.1f} {y1:.1f} {reach + 8:.1f} {y2:.1f} "
            f"{x2 + 4:.1f} {y2:.1f}"
        )
        done = (source, target) in taken
        times = max(walked.visits.get(target, 0) - 1, 0) if done else 0
        yield Edge(
            path,
            done,
            back=True,
            label=f"{times}×" if times else "",
            x=round(reach + 4, 1),
            y=round((y1 + y2) / 2 + 3, 1),
        )


def _summary(walked: Trail, current: Sequence[str], finished: bool) -> str:
    done = ", ".join(walked.visits) or "none"
    now = "The end is reached." if finished else f"Now: {', '.join(current) or 'none'}."
    return f"Nodes done: {done}. {now}"
