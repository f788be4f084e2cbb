"""Layout of an agent's graph in layers, and the plan of its nodes; pure, from stored rows only.

The graph is the JSON of an AgentVersion: {"entry": [names], "nodes": [{"name", "then": [names],
"label", "external", "gate"}]}. A name in `then` that is no node means the end. What was visited
comes from the checkpoints on the head's way, so it can be drawn when the agent's code is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow

END = "__end__"
NODE_H, LAYER_GAP, NODE_GAP, MARGIN = 28, 22, 12, 8
MIN_WIDTH = 268
MAX_NODES = 40
LABEL_MAX = 26
CHAR_W = 6.7  # one monospaced character at 11 px


@dataclass(frozen=True, slots=True)
class Trail:
    """What the head's way visited: times per node, edges taken, last checkpoint of each node."""

    visits: Mapping[str, int]
    taken: frozenset[tuple[str, str]]
    last: Mapping[str, UUID]
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A node; x, y are its left top corner. state: done, now, todo or end."""

    name: str
    text: str
    label: str
    x: float
    y: float
    w: float
    state: str
    visits: int
    gate: bool
    external: bool

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


def trail(graph: Mapping[str, Any], path: Sequence[CheckpointRow]) -> Trail:
    """Follow `path` (newest first, as `lineage.head_path` gives it) through the graph."""
    then = {node["name"]: _then(node) for node in graph.get("nodes", ())}
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
    graph: Mapping[str, Any], path: Sequence[CheckpointRow], *, current: Sequence[str] = ()
) -> list[PlanStep]:
    """Steps done and awaited by name, layer by layer; `current` is being worked or waited on."""
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
        for layer in _layers(graph)[0]
        for name in layer
        if name != END
    ]


def picture(
    graph: Mapping[str, Any],
    path: Sequence[CheckpointRow],
    *,
    current: Sequence[str] = (),
    finished: bool = False,
) -> Picture:
    """Place the nodes in layers from the entry down; loops go back on the right side.

    `finished` draws the last arrow to the end as taken.
    """
    nodes = {node["name"]: node for node in graph.get("nodes", ())}
    layers, back = _layers(graph)
    walked = trail(graph, path)
    summary = _summary(walked, current, finished)
    names = tuple(tuple(n for n in layer if n != END) for layer in layers)
    if len(nodes) > MAX_NODES or not nodes:
        return Picture(MIN_WIDTH, 0, (), (), names, summary, too_big=bool(nodes))
    chains, ordered = _route(nodes, layers, back)
    widths = {n: _width(n) for layer in ordered for n in layer}
    centre = _positions(ordered, chains, widths)
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
        boxes=tuple(_boxes(nodes, ordered, widths, centre, top, walked, current)),
        edges=(
            *_forward(chains, centre, top, taken),
            *_backward(back, widths, centre, top, taken, walked),
        ),
        layers=names,
        summary=summary,
    )


def _then(node: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(node.get("then") or ())


def _layers(graph: Mapping[str, Any]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Nodes by longest way from the entry, and the edges that close a loop."""
    names = [node["name"] for node in graph.get("nodes", ())]
    known = set(names)
    edges = {
        node["name"]: tuple(dict.fromkeys(t if t in known else END for t in _then(node)))
        for node in graph.get("nodes", ())
    }
    entry = [n for n in graph.get("entry", ()) if n in known]
    back, order = _loops(edges, [*entry, *names])
    depth = dict.fromkeys(order, 0)
    for name in order:  # reverse post-order: every edge that is not a loop goes forward
        for target in edges.get(name, ()):
            if (name, target) not in back:
                depth[target] = max(depth[target], depth[name] + 1)
    if END in depth:
        depth[END] = max((d for n, d in depth.items() if n != END), default=-1) + 1
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in order:
        layers[depth[name]].append(name)
    return [layer for layer in layers if layer], back


def _loops(
    edges: Mapping[str, Sequence[str]], roots: Iterable[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """The edges into an open node, and the topological order; depth first, no recursion."""
    back: list[tuple[str, str]] = []
    done: list[str] = []
    open_: set[str] = set()
    closed: set[str] = set()
    for root in roots:
        if root in closed:
            continue
        # Targets are taken last first, so that the first one ends up leftmost.
        stack = [(root, iter(tuple(edges.get(root, ()))[::-1]))]
        open_.add(root)
        while stack:
            name, targets = stack[-1]
            for target in targets:
                if target in open_:
                    back.append((name, target))
                elif target not in closed:
                    open_.add(target)
                    stack.append((target, iter(tuple(edges.get(target, ()))[::-1])))
                    break
            else:
                stack.pop()
                open_.discard(name)
                closed.add(name)
                done.append(name)
    return back, done[::-1]


def _route(
    nodes: Mapping[str, Mapping[str, Any]],
    layers: Sequence[Sequence[str]],
    back: Sequence[tuple[str, str]],
) -> tuple[list[list[str]], list[list[str]]]:
    """Chains of names per edge, with a stop in each layer it crosses, and the ordered layers."""
    depth = {n: i for i, layer in enumerate(layers) for n in layer}
    ordered = [list(layer) for layer in layers]
    chains: list[list[str]] = []
    for name, node in nodes.items():
        for target in dict.fromkeys(t if t in nodes else END for t in _then(node)):
            if (name, target) in back:
                continue
            stops = [f"{name}>{target}>{i}" for i in range(depth[name] + 1, depth[target])]
            for i, stop in enumerate(stops, depth[name] + 1):
                ordered[i].append(stop)
            chains.append([name, *stops, target])
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for chain in chains:
        for a, b in pairwise(chain):
            below.setdefault(a, []).append(b)
            above.setdefault(b, []).append(a)
    for sweep in range(4):
        if sweep % 2 == 0:
            for i in range(1, len(ordered)):
                ordered[i] = _by_mean(ordered[i], ordered[i - 1], above)
        else:
            for i in range(len(ordered) - 2, -1, -1):
                ordered[i] = _by_mean(ordered[i], ordered[i + 1], below)
    return chains, ordered


def _by_mean(
    layer: Sequence[str], fixed: Sequence[str], near: Mapping[str, Sequence[str]]
) -> list[str]:
    """`layer` sorted by the mean place of each name's neighbours in the fixed layer."""
    place = {name: i for i, name in enumerate(fixed)}
    weight: dict[str, float] = {}
    for i, name in enumerate(layer):
        spots = [place[n] for n in near.get(name, ()) if n in place]
        weight[name] = sum(spots) / len(spots) if spots else i
    return sorted(layer, key=weight.__getitem__)


def _width(name: str) -> float:
    if name == END:
        return 12
    if ">" in name:
        return 8
    return max(64.0, min(len(name), LABEL_MAX) * CHAR_W + 36)


def _positions(
    ordered: Sequence[Sequence[str]], chains: Sequence[Sequence[str]], widths: Mapping[str, float]
) -> dict[str, float]:
    """Centre of each name: first spread evenly, then drawn towards its neighbours."""
    centre: dict[str, float] = {}
    for layer in ordered:
        x = -(sum(widths[n] for n in layer) + NODE_GAP * (len(layer) - 1)) / 2
        for name in layer:
            centre[name] = x + widths[name] / 2
            x += widths[name] + NODE_GAP
    near: dict[str, list[str]] = {}
    for chain in chains:
        for a, b in pairwise(chain):
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
    for _ in range(6):
        for layer in ordered:
            wish = [
                sum(centre[m] for m in near[n]) / len(near[n]) if near.get(n) else centre[n]
                for n in layer
            ]
            gaps = [(widths[a] + widths[b]) / 2 + NODE_GAP for a, b in pairwise(layer)]
            right, left = list(wish), list(wish)
            for i, gap in enumerate(gaps):
                right[i + 1] = max(right[i + 1], right[i] + gap)
            for i, gap in reversed(list(enumerate(gaps))):
                left[i] = min(left[i], left[i + 1] - gap)
            # Pushed apart to either side; the mean of both keeps the gaps and the balance.
            for name, x, y in zip(layer, left, right, strict=True):
                centre[name] = (x + y) / 2
    return centre


def _boxes(
    nodes: Mapping[str, Mapping[str, Any]],
    ordered: Sequence[Sequence[str]],
    widths: Mapping[str, float],
    centre: Mapping[str, float],
    top: Mapping[str, float],
    walked: Trail,
    current: Sequence[str],
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
                    False,
                )
            elif name in nodes:
                node = nodes[name]
                text = name if len(name) <= LABEL_MAX else name[: LABEL_MAX - 1] + "…"
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
                    bool(node.get("external")),
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
