"""The record of one thread as LangGraph needs it: checkpoints by namespace, writes, parents."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .changes import applied

Json = dict[str, Any]
# Members of a state beside the channels: what LangGraph says of a checkpoint.
ABOUT, VERSIONS, SEEN = "$langgraph", "$versions", "$seen"
RESERVED = frozenset({ABOUT, VERSIONS, SEEN})
# What is recorded as activities: a subgraph's checkpoints, writes, and what was deleted.
CHECKPOINT, WRITES, DELETED = "langgraph.checkpoint", "langgraph.writes", "langgraph.deleted"
ROOT = ""
STATES_KEPT = 64
OLDER = 1_000_000_000  # the numbers of a base lie below those of its forks

PointKey = tuple[str, str]  # namespace, checkpoint id
WriteKey = tuple[str, str, int]  # task path, task id, index: the order of writes


@dataclass(frozen=True)
class Point:
    """One checkpoint. `base` names the one that its delta changes, None for an empty state.

    `source` is Gatepost's word: step, edit, rollback, fork, input; `number` orders those of the
    root, which a thread has as checkpoints of its own.
    """

    ns: str
    id: str
    base: PointKey | None
    delta: Json
    source: str = "step"
    number: int = 0
    created_at: str = ""


@dataclass
class Record:
    """A thread's past as far as it was read; grows with pages and with checkpoints that are put."""

    points: dict[PointKey, Point] = field(default_factory=dict)
    writes: dict[PointKey, dict[tuple[str, int], tuple[WriteKey, str, Any]]] = field(
        default_factory=dict
    )
    deleted: set[PointKey] = field(default_factory=set)
    followed: set[str] = field(default_factory=set)  # ids that a checkpoint of LangGraph stands on
    head: str = ""
    first: str = ""
    next_number: int = 0
    seq: int = -1
    # (thread, number) where a fork left its base.
    base: tuple[str, int] | None = None
    _states: dict[PointKey, Json] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # ---- growing ---------------------------------------------------------------------------------

    def take_page(self, page: Json) -> None:
        """Take a page of the thread's own record."""
        for step in page["steps"]:
            self._take_step(step, step["number"])
            self.next_number = max(self.next_number, step["number"])
            if step["number"] == 0:
                self.first = step["id"]
        self.head = page["thread"]["head"]
        self.seq = page["thread"]["seq"]

    def take_base_page(self, page: Json, last: int, depth: int) -> None:
        """Take a page of the record that a fork shares with its base, up to a number."""
        for step in page["steps"]:
            if step["number"] <= last:
                self._take_step(step, step["number"] - depth * OLDER)

    def _take_step(self, step: Json, number: int) -> None:
        key = (ROOT, step["id"])
        if key not in self.points:
            base = None if step["parent"] is None else (ROOT, step["parent"])
            source, created_at = step["source"], step["created_at"]
            self.add(Point(ROOT, step["id"], base, step["delta"], source, number, created_at))
            if step["parent_thread"] not in (None, step["thread"]):
                self.base = (step["parent_thread"], step["parent_number"])
        for activity in step["activities"]:
            self.take_activity(activity["tool"], activity["args"], activity["result"])

    def take_activity(self, tool: str, args: Any, result: Any) -> None:
        """Take something recorded beside checkpoints; a later revision comes after the former."""
        if tool == CHECKPOINT:
            parent = args["parent"]
            base = None if parent is None else (args["ns"], parent)
            if (args["ns"], args["checkpoint"]) not in self.points:
                self.add(Point(args["ns"], args["checkpoint"], base, result))
        elif tool == WRITES:
            writes = self.writes.setdefault((args["ns"], args["checkpoint"]), {})
            for index, channel, value in result:
                order = (args["path"], args["task"], index)
                writes[args["task"], index] = (order, channel, value)
        elif tool == DELETED:
            self.deleted.update((ns, ident) for ns, ident in result)

    def add(self, point: Point) -> None:
        """Add a checkpoint."""
        self.points[point.ns, point.id] = point
        about = point.delta.get("set", {}).get(ABOUT)
        if point.source == "step" and about and about["parent"]:
            self.followed.add(about["parent"])

    # ---- reading ---------------------------------------------------------------------------------

    def state(self, key: PointKey | None) -> Json:
        """The state at a checkpoint; read it, never change it."""
        with self._lock:
            return self._state(key)

    def _state(self, key: PointKey | None) -> Json:
        path: list[Point] = []
        while key is not None and key not in self._states:
            point = self.points.get(key)
            if point is None:
                break
            path.append(point)
            key = point.base
        state = {} if key is None else self._states.get(key, {})
        for point in reversed(path):
            state = applied(state, point.delta)
        if path:
            self.keep(path[0], state)
        return state

    def keep(self, point: Point, state: Json) -> None:
        """Keep a state that was folded or just put, in the place of the oldest one."""
        with self._lock:
            while len(self._states) >= STATES_KEPT:
                del self._states[next(iter(self._states))]
            self._states[point.ns, point.id] = state

    def is_shown(self, point: Point) -> bool:
        """Return whether LangGraph has it: one of its own, or where people changed the past."""
        if (point.ns, point.id) in self.deleted:
            return False
        if point.ns != ROOT or (point.source == "step" and ABOUT in point.delta.get("set", {})):
            return True
        if point.source == "rollback" and point.id not in {self.head, *self.followed}:
            return False  # it only leads to another branch
        return ABOUT in self.state((point.ns, point.id))

    def shown(self, ns: str) -> list[Point]:
        """The checkpoints of a namespace, newest first."""
        own = [point for point in self.points.values() if point.ns == ns and self.is_shown(point)]
        return sorted(own, key=_age_of, reverse=True)

    def namespaces(self) -> list[str]:
        """All namespaces, the root first."""
        return sorted({ns for ns, _ in self.points} | {ROOT})

    def latest(self, ns: str) -> Point | None:
        """The head where LangGraph has it, else the newest checkpoint of the namespace."""
        head = self.points.get((ROOT, self.head))
        if ns == ROOT and head is not None and self.is_shown(head):
            return head
        return next(iter(self.shown(ns)), None)

    def find(self, ns: str, ident: str) -> Point | None:
        """A checkpoint that LangGraph has."""
        point = self.points.get((ns, ident))
        return point if point is not None and self.is_shown(point) else None

    def parent(self, point: Point) -> str | None:
        """The id of the checkpoint that LangGraph continued from, or that people changed."""
        if point.ns != ROOT:
            return None if point.base is None else point.base[1]
        if point.source == "step":
            return _about(point.delta).get("parent")
        key = point.base
        while key is not None:
            before = self.points.get(key)
            if before is None:
                return None
            if self.is_shown(before):
                return before.id
            key = before.base
        return None

    def writes_of(self, key: PointKey) -> Sequence[tuple[WriteKey, str, Any]]:
        """The pending writes of a checkpoint, in the order in which LangGraph applies them."""
        return sorted(self.writes.get(key, {}).values(), key=lambda write: write[0])

    def ancestors(self, point: Point) -> Iterable[tuple[Point, bool]]:
        """(ancestor, whether its writes led to the one after it), nearest first."""
        while (ident := self.parent(point)) is not None:
            before = self.points.get((point.ns, ident))
            if before is None:
                return
            yield before, point.ns != ROOT or point.source == "step"
            point = before

    def prepare(self, points: Sequence[Point]) -> None:
        """Fold the states of several checkpoints, newest first, in one go."""
        for point in reversed(points):
            self.state((point.ns, point.id))


def _age_of(point: Point) -> tuple[int, str]:
    return point.number, point.id


def _about(delta: Mapping[str, Any]) -> Json:
    about: Json = delta.get("set", {}).get(ABOUT, {})
    return about
