"""Joins: a node that several branches lead to waits for those that are still under way.

Between two steps a thread has a frontier, the nodes that come next. A node of it waits while
another one can still reach it in the same round; every other node of the frontier works. So a join
runs once, with all that its branches wrote, however long each of them is.

`m` reaches `n` in the same round when a path leads from `m` to `n` that passes no node through
which every way to both of them passes: such a path begins a new round, as a loop over the whole
graph does. Two nodes that can reach each other wait for neither. Should all wait in a circle, all
work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args, get_origin, get_type_hints

from .errors import GraphError


class Joins:
    """Which nodes of a frontier wait. `ways` leads from each node to those that may follow it.

    `unjoined` are the nodes that run at every arrival, as their author says.
    """

    def __init__(
        self,
        ways: Mapping[str, Collection[str]],
        entry: Sequence[str],
        unjoined: Collection[str] = (),
    ) -> None:
        self._ways = {name: tuple(w for w in to if w in ways) for name, to in ways.items()}
        self._entry = [name for name in entry if name in ways]
        self._unjoined = frozenset(unjoined)
        self._known: dict[tuple[str, str], bool] = {}
        self._needed: dict[str, frozenset[str]] = {}

    @cached_property
    def joins(self) -> frozenset[str]:
        """The nodes with more than one way in that do not run at every arrival."""
        into: dict[str, int] = dict.fromkeys(self._ways, 0)
        for to in self._ways.values():
            for name in set(to):
                into[name] += 1
        return frozenset(n for n, many in into.items() if many > 1) - self._unjoined

    def ready(self, frontier: Sequence[str]) -> tuple[str, ...]:
        """The nodes of a frontier that work now; never none of them."""
        if len(frontier) < 2 or self.joins.isdisjoint(frontier):
            return tuple(frontier)
        now = tuple(n for n in frontier if not any(self.waits(n, m) for m in frontier if m != n))
        return now or tuple(frontier)

    def waits(self, node: str, other: str) -> bool:
        """Answer True if `node` waits while `other` is under way."""
        if node not in self.joins or other not in self._ways:
            return False
        if (node, other) not in self._known:
            mutual = other in self.joins and self._reaches(node, other)
            self._known[node, other] = not mutual and self._reaches(other, node)
        return self._known[node, other]

    def lengths(self, branches: Sequence[str], node: str) -> tuple[int, ...]:
        """After how many steps branches that begin at these nodes may arrive at a join."""
        if node not in self.joins or len(set(branches)) < 2:
            return ()
        results = set()
        for branch in branches:
            if branch == node:
                results.add(0)
            elif self.waits(node, branch):
                results.add(self._distance(branch, node))
        return tuple(sorted(results))

    def _distance(self, begin: str, end: str) -> int:
        """Steps of the shortest path."""
        layer, seen, steps = {begin}, {begin}, 0
        while end not in layer:
            layer = {f for n in layer for f in self._ways[n]} - seen
            seen |= layer
            steps += 1
        return steps

    def _reaches(self, begin: str, end: str) -> bool:
        """Answer True if a path leads from one to the other within a round."""
        shared = self._on_every_way(begin) & self._on_every_way(end)
        if begin in shared or end in shared:
            return False
        return end in self._closure([begin], without=shared)

    def _on_every_way(self, node: str) -> frozenset[str]:
        """The nodes that every path from the entry to this one passes: its dominators."""
        if node not in self._needed:
            within = self._closure(self._entry, without=frozenset())
            self._needed[node] = (
                frozenset(
                    n
                    for n in within
                    if n == node or node not in self._closure(self._entry, without=frozenset((n,)))
                )
                if node in within
                else frozenset((node,))
            )
        return self._needed[node]

    def _closure(self, begin: Sequence[str], *, without: frozenset[str]) -> set[str]:
        """The nodes reachable from these, themselves included, on paths around `without`."""
        results = {n for n in begin if n not in without}
        left = list(results)
        while left:
            for following in self._ways[left.pop()]:
                if following not in results and following not in without:
                    results.add(following)
                    left.append(following)
        return results


def ways_of(
    then: str | Sequence[str] | Callable[[Any], Any], ways: Sequence[str]
) -> tuple[str, ...]:
    """The nodes that an edge may lead to; GraphError where a function does not say."""
    if isinstance(then, str):
        return (then,)
    if not callable(then):
        return tuple(then)
    if ways:
        return tuple(ways)
    answer = get_type_hints(then).get("return")
    if get_origin(answer) is Literal:
        return tuple(get_args(answer))
    raise GraphError("A function edge needs `ways=(...)` or a Literal return type.")
