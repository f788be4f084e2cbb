"""What a saver does, as flows: the rules are the same with threads and in an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT

from ..record.values import listed
from ..wire import api
from ..wire.errors import ClientError
from ..wire.flow import Flow, Sleep
from ..wire.settings import Settings
from ..wire.transports import Closed
from . import tuples
from .announcements import announced, announced_input
from .changes import difference
from .leased_thread import LeasedThread
from .record import (
    ABOUT,
    CHECKPOINT,
    ROOT,
    Point,
    PointKey,
)
from .reports import AT_ONCE, alone, position_of, records_of
from .serializer import JsonSerializer, check_searchable

T = TypeVar("T")
Json = dict[str, Any]
Chosen = tuple[LeasedThread, Point]
LOOK_SECONDS = 0.5
# A graph that has stopped is left after so long: its other nodes may still report.
GRACE_SECONDS = 1.0
NOTHING_LEFT = "The graph has nothing left to do; invoke it again to continue."
INTERRUPTED = "The graph stopped at an interrupt; resume it with a Command."


class Operations:
    """The threads that a saver has met, and what may be done with them."""

    def __init__(
        self,
        agent: str,
        settings: Callable[[], Settings],
        serde: JsonSerializer,
        searchable: Sequence[str] = (),
    ) -> None:
        self.agent = agent
        self.serde = serde
        self.searchable = listed(searchable, "searchable")
        self.announced = announced(searchable=self.searchable)
        self._settings = settings
        self._threads: dict[str, LeasedThread] = {}

    def leased(self, thread: Any) -> LeasedThread:
        """A thread as this process has read it, by the name that LangGraph has for it."""
        name = str(thread)
        made = LeasedThread(name, self.agent, self._settings(), self.announced)
        return self._threads.setdefault(name, made)

    # ---- reading ---------------------------------------------------------------------------------

    def get_tuple(self, config: Mapping[str, Any]) -> Flow[CheckpointTuple | None]:
        """The checkpoint that a config names, else the newest of its namespace."""
        thread, ns, ident = _named(config)
        leased = self.leased(thread)

        def read() -> Flow[CheckpointTuple | None]:
            yield from leased.refresh()
            latest = leased.record.latest(ns)
            newest = None if latest is None else latest.id
            point = latest if ident is None else leased.record.find(ns, ident)
            if ns == ROOT and ident not in (None, newest):
                leased.chosen.add(ident)
            elif ns == ROOT:
                leased.served.add(newest)
                leased.chosen.discard(newest)
            if point is None:
                return None
            return tuples.tuple_of(self.serde, leased.name, leased.record, point)

        return alone(leased, read())

    def select(
        self,
        config: Mapping[str, Any] | None,
        filter: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Flow[list[Chosen]]:
        """The checkpoints that `list` names: per namespace, newest first."""
        wanted = {} if config is None else config["configurable"]
        # It names a checkpoint only: thread and namespace are those of the config.
        last = (before or {}).get("configurable", {}).get("checkpoint_id")

        def choose(leased: LeasedThread) -> Flow[list[Chosen]]:
            yield from leased.refresh()
            ns, ident = wanted.get("checkpoint_ns"), wanted.get("checkpoint_id")
            result: list[Chosen] = []
            for name in leased.record.namespaces() if ns is None else [ns]:
                points = leased.record.shown(name)
                points = points if last is None else _before(points, last)
                points = points if not ident else [p for p in points if p.id == ident]
                result += [(leased, p) for p in points if self._fits(leased, p, filter or {})]
            return result

        selected: list[Chosen] = []
        for leased in (yield from self.threads_of(config)):
            selected += yield from alone(leased, choose(leased))
        return selected if limit is None else selected[:limit]

    def threads_of(self, config: Mapping[str, Any] | None) -> Flow[list[LeasedThread]]:
        """The thread that a config names; without one all threads of the agent."""
        if config is not None:
            return [self.leased(config["configurable"]["thread_id"])]
        leased_threads: list[LeasedThread] = []
        cursor: str | None = ""
        while cursor is not None:
            page = yield from api.list_threads(self.agent, cursor)
            leased_threads += [self.leased(row["name"] or row["id"]) for row in page["results"]]
            cursor = page["next_cursor"] or None
        return leased_threads

    def _fits(self, leased: LeasedThread, point: Point, filter: Mapping[str, Any]) -> bool:
        if not filter:
            return True
        metadata = self.metadata(leased, point)
        return all(metadata.get(name) == value for name, value in filter.items())

    def metadata(self, leased: LeasedThread, point: Point) -> Json:
        """The metadata that LangGraph wrote with a checkpoint."""
        about = point.delta.get("set", {}).get(ABOUT)
        about = about or leased.record.state((point.ns, point.id))[ABOUT]
        metadata: Json = self.serde.decode(about["metadata"])
        return metadata

    def history(
        self, config: Mapping[str, Any], channels: Sequence[str]
    ) -> Flow[dict[str, dict[str, Any]]]:
        """Read the answer of `get_delta_channel_history`."""
        thread, ns, ident = _named(config)
        leased = self.leased(thread)

        def read() -> Flow[dict[str, dict[str, Any]]]:
            yield from leased.refresh()
            record = leased.record
            point = record.latest(ns) if ident is None else record.find(ns, ident)
            if point is None:
                return {channel: {"writes": []} for channel in channels}
            return tuples.seeds_and_writes(self.serde, record, point, channels)

        return alone(leased, read())

    # ---- writing ---------------------------------------------------------------------------------

    def put(
        self, config: Mapping[str, Any], checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Flow[Json]:
        """Commit a checkpoint under the lease; raises Outdated and Taken."""
        thread, ns, parent = _named(config)
        leased = self.leased(thread)
        about: Json = dict(get_checkpoint_metadata(dict(config), dict(metadata)))
        state = tuples.state_of(self.serde, checkpoint, about, parent)

        def write() -> Flow[Json]:
            if ns == ROOT:
                check_searchable(self.searchable, state)
            if ns == ROOT and not leased.thread:
                leased.announced = announced_input(state, self.searchable)
            yield from leased.acquire()
            if ns == ROOT and about.get("source") != "fork":
                leased.check_parent(parent)
            yield from self.put_state(leased, ns, parent, checkpoint["id"], state)
            if ns == ROOT:
                leased.served.add(checkpoint["id"])
            if ns == ROOT and not leased.is_held:
                if about.get("source") in ("update", "fork"):
                    leased.settle(GRACE_SECONDS, NOTHING_LEFT)
                elif not tuples.is_busy(state):
                    yield from leased.leave(reason=NOTHING_LEFT)
            return tuples.config_of(leased.name, ns, checkpoint["id"])

        return alone(leased, write())

    def put_state(
        self, leased: LeasedThread, ns: str, parent: str | None, ident: str, state: Json
    ) -> Flow[None]:
        """Commit or record a checkpoint, and the writes that came before it."""
        if ns == ROOT:
            yield from self._commit(leased, parent, ident, state)
        else:
            yield from self._record_point(leased, ns, parent, ident, state)
        records = leased.waiting.pop((ns, ident), [])
        yield from self.record_writes(leased, records, (ns, ident))
        _note_stop(leased, [write for record in records for write in record["result"]])

    def _commit(
        self, leased: LeasedThread, parent: str | None, ident: str, state: Json
    ) -> Flow[None]:
        record = leased.record
        latest = record.latest(ROOT)
        newest = None if latest is None else latest.id
        if parent == newest:
            base = record.head if latest is None or record.head == newest else str(newest)
        else:
            base = record.first if parent is None else parent
        if (ROOT, base) not in record.points:
            base = record.head
        before = record.state((ROOT, base))
        # LangGraph's own words are always part of it: they tell its checkpoints from others.
        delta = difference({**before, ABOUT: None}, state, self.searchable)
        body: Json = {
            "id": ident,
            "nodes": tuples.nodes_of(state, before),
            "next_nodes": tuples.next_nodes_of(state),
            "delta": delta,
        }
        if base != record.head:
            body["parent"] = base
        answer = yield from leased.report(leased.under.commit_point(body))
        number = answer["checkpoint"]["number"]
        point = Point(ROOT, ident, (ROOT, base), delta, "step", number)
        record.add(point)
        record.keep(point, state)
        record.head, record.next_number = ident, number

    def _record_point(
        self, leased: LeasedThread, ns: str, parent: str | None, ident: str, state: Json
    ) -> Flow[None]:
        record = leased.record
        base = None if parent is None else (ns, parent)
        delta = difference(record.state(base), state)
        made = {
            **position_of(ns, ident),
            "tool": CHECKPOINT,
            "args": {"ns": ns, "checkpoint": ident, "parent": parent},
            "result": delta,
        }
        yield from leased.report(leased.under.record([made], None))
        point = Point(ns, ident, base, delta)
        record.add(point)
        record.keep(point, state)

    def put_writes(
        self,
        config: Mapping[str, Any],
        writes: Sequence[tuple[str, Any]],
        task: str,
        path: str,
    ) -> Flow[None]:
        """Record what a task wrote; what it wrote before under the same index stays."""
        thread, ns, ident = _named(config)
        leased = self.leased(thread)
        key = (ns, str(ident))
        encoded = [
            [WRITES_IDX_MAP.get(channel, n), channel, self.serde.encode(value, channel)]
            for n, (channel, value) in enumerate(writes)
        ]

        def write() -> Flow[None]:
            yield from leased.acquire()
            known = leased.record.writes.get(key, {})
            new = [one for one in encoded if one[0] < 0 or (task, one[0]) not in known]
            records = records_of(key, task, path, new)
            if key not in leased.record.points:
                # Its checkpoint is on the way; both become visible together.
                leased.waiting.setdefault(key, []).extend(records)
            elif records:
                yield from self.record_writes(leased, records, key)
            _note_stop(leased, new)
            latest = leased.record.latest(ROOT)
            if latest is None or not tuples.is_busy(leased.record.state((ROOT, latest.id))):
                # A write that comes after the last checkpoint.
                leased.settle(GRACE_SECONDS, NOTHING_LEFT)

        return alone(leased, write())

    def record_writes(
        self, leased: LeasedThread, records: Sequence[Json], key: PointKey
    ) -> Flow[None]:
        """Record writes to a checkpoint that is on record."""
        point = leased.record.points[key]
        # A subgraph's writes, and those to the past that a fork shares, stand at the head.
        at = point.id if point.ns == ROOT and point.number >= 0 else None
        for start in range(0, len(records), AT_ONCE):
            some = records[start : start + AT_ONCE]
            yield from leased.report(leased.under.record(some, at))
            for one in some:
                leased.record.take_activity(one["tool"], one["args"], one["result"])

    # ---- the leases ------------------------------------------------------------------------------

    def keep_leases(self) -> Flow[None]:
        """Prolong the leases of threads at work, and leave those that have been idle."""
        renewed = time.monotonic()
        while True:
            try:
                yield Sleep(LOOK_SECONDS)
                due = time.monotonic() - renewed >= self._settings().lease_seconds / 3
                renewed = time.monotonic() if due else renewed
                for leased in list(self._threads.values()):
                    if leased.under.token and (due or leased.is_idle):
                        yield from alone(leased, _renew(leased))
            except Closed:
                return

    def leave_all(self) -> Flow[None]:
        """Leave every thread that is held."""
        for leased in list(self._threads.values()):
            yield from alone(leased, leased.leave("queued", "The process was stopped."))


def _renew(leased: LeasedThread) -> Flow[None]:
    try:
        yield from leased.renew()
    except ClientError:
        return  # the server is away: the next report waits for it


def _note_stop(leased: LeasedThread, writes: Sequence[Sequence[Any]]) -> None:
    """Let the thread go soon where a task has written that it stopped."""
    for _, channel, value in writes:
        if channel == INTERRUPT:
            leased.settle(GRACE_SECONDS, INTERRUPTED)
        elif channel == ERROR:
            leased.settle(GRACE_SECONDS, f"A node failed: {value}")


def _named(config: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """(thread, namespace, checkpoint or None) that a config names."""
    named = config["configurable"]
    return (
        str(named["thread_id"]),
        named.get("checkpoint_ns") or ROOT,
        named.get("checkpoint_id") or None,
    )


def _before(points: list[Point], ident: str) -> list[Point]:
    """Those that stand behind a checkpoint; of another namespace, those with lower ids."""
    for n, point in enumerate(points):
        if point.id == ident:
            return points[n + 1 :]
    return [point for point in points if point.id < ident]
