"""A graph in layers: where each node stands across and down; pure, without a drawing.

Loops are found first and left out, then every node stands below all that lead to it. An edge over
several layers gets a stop in each of them, so that it goes around the nodes between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

END = "__end__"
NODE_GAP = 12
LABEL_MAX = 26
CHAR_W = 6.7  # one monospaced character at 11 px


def targets_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The targets of a node's edges."""
    return tuple(node.get("then") or ())


def layers_of(graph: Mapping[str, Any]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Nodes by longest way from the entry, and the edges that close a loop."""
    names = [node["name"] for node in graph.get("nodes", ())]
    known = set(names)
    edges = {
        node["name"]: tuple(dict.fromkeys(t if t in known else END for t in targets_of(node)))
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


def route(
    nodes: Mapping[str, Mapping[str, Any]],
    layers: Sequence[Sequence[str]],
    back: Sequence[tuple[str, str]],
) -> tuple[list[list[str]], list[list[str]]]:
    """Chains of names per edge, with a stop in each layer it crosses, and the ordered layers."""
    depth = {n: i for i, layer in enumerate(layers) for n in layer}
    ordered = [list(layer) for layer in layers]
    chains: list[list[str]] = []
    for name, node in nodes.items():
        for target in dict.fromkeys(t if t in nodes else END for t in targets_of(node)):
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
    """`layer` sorted by the mean index of each name's neighbours in the fixed layer."""
    index = {name: i for i, name in enumerate(fixed)}
    weight: dict[str, float] = {}
    for i, name in enumerate(layer):
        spots = [index[n] for n in near.get(name, ()) if n in index]
        weight[name] = sum(spots) / len(spots) if spots else i
    return sorted(layer, key=weight.__getitem__)


def width_of(name: str) -> float:
    """Width of a node by its name, of the end and of a stop."""
    if name == END:
        return 12
    if ">" in name:
        return 8
    return max(64.0, min(len(name), LABEL_MAX) * CHAR_W + 36)


def positions(
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
