"""Deleting, pruning and copying, which LangGraph asks of a saver for whole threads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from ..wire import api
from ..wire.errors import Refused
from ..wire.flow import Flow
from .leased_thread import LeasedThread
from .operations import NOTHING_LEFT, Operations
from .record import ABOUT, DELETED, Point
from .reports import AT_ONCE, alone, position_of, records_of

Json = dict[str, Any]
log = logging.getLogger("gatepost_client")
ERASURE_REASON = "delete_thread of LangGraph"


class Maintenance(Operations):
    """Operations on whole threads; what they delete is hidden from LangGraph immediately."""

    def delete_thread(self, thread: str) -> Flow[None]:
        """Hide all checkpoints of a thread from LangGraph, and request that they are erased.

        The request waits at Gatepost for a second person. Without the scope `erase` no request is
        made, and the record keeps the checkpoints; a line of the log says which it was.
        """
        yield from self._delete(thread, lambda _, __: True)
        leased = self.leased(thread)
        if not leased.thread:
            return
        try:
            made = yield from api.request_erasure(leased.thread, ERASURE_REASON)
        except Refused as refused:
            if refused.status not in (403, 409):
                raise
            log.warning("%s is hidden, its record stays: %s", thread, refused.detail)
        else:
            log.info("%s is hidden; its erasure %s waits for approval", thread, made["id"])

    def delete_for_runs(self, runs: Sequence[str]) -> Flow[None]:
        """Hide the checkpoints that certain runs made, in all threads of the agent."""
        if not runs:
            return
        for leased in (yield from self.threads_of(None)):
            yield from self._delete(
                leased.name, lambda h, p: self.metadata(h, p).get("run_id") in runs
            )

    def prune(self, threads: Sequence[str], strategy: str) -> Flow[None]:
        """Hide all but the newest checkpoint per namespace, or all with `delete`.

        What the delta channels of the newest one are rebuilt from stays as well.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"There is no strategy {strategy!r}: keep_latest or delete.")
        for thread in threads:
            if strategy == "delete":
                yield from self.delete_thread(thread)
            else:
                yield from self._delete(thread, self._is_dispensable)

    def _is_dispensable(self, leased: LeasedThread, point: Point) -> bool:
        latest = leased.record.latest(point.ns)
        if latest is None or latest.id == point.id:
            return False
        left = set(self.metadata(leased, latest).get("counters_since_delta_snapshot") or ())
        left -= leased.record.state((latest.ns, latest.id)).keys()
        for before, _ in leased.record.ancestors(latest):
            if not left:
                return True
            if before.id == point.id:
                return False
            left -= leased.record.state((before.ns, before.id)).keys()
        return True

    def _delete(self, thread: str, is_chosen: Callable[[LeasedThread, Point], bool]) -> Flow[None]:
        leased = self.leased(thread)

        def keys() -> list[list[str]]:
            record = leased.record
            shown = [point for ns in record.namespaces() for point in record.shown(ns)]
            return [[point.ns, point.id] for point in shown if is_chosen(leased, point)]

        def hide() -> Flow[None]:
            if not (yield from leased.refresh()) or not keys():
                return
            was_held = bool(leased.under.token)
            yield from leased.acquire()
            chosen = keys()
            for start in range(0, len(chosen), AT_ONCE):
                some = chosen[start : start + AT_ONCE]
                made = {**position_of("", f"deleted {uuid4()}"), "tool": DELETED}
                made |= {"args": {}, "result": some}
                yield from leased.report(leased.under.record([made], None))
                leased.record.take_activity(DELETED, {}, some)
            if not was_held:
                yield from leased.leave(reason=NOTHING_LEFT)

        return alone(leased, hide())

    def copy_thread(self, source: str, target: str) -> Flow[None]:
        """Commit every checkpoint of a thread and its writes once more, in another thread."""
        old, new = self.leased(source), self.leased(target)
        if not (yield from alone(old, old.refresh())):
            return

        def write() -> Flow[None]:
            yield from new.acquire()
            for ns in old.record.namespaces():
                for point in reversed(old.record.shown(ns)):
                    yield from self._copy(old, new, point)
            if not new.is_held:
                yield from new.leave(reason=NOTHING_LEFT)

        yield from alone(new, write())

    def _copy(self, old: LeasedThread, new: LeasedThread, point: Point) -> Flow[None]:
        key = (point.ns, point.id)
        parent = old.record.parent(point)
        state = old.record.state(key)
        state = {**state, ABOUT: {**state[ABOUT], "parent": parent}}
        yield from self.put_state(new, point.ns, parent, point.id, state)
        by_task: dict[tuple[str, str], list[list[Any]]] = {}
        for (path, task, index), channel, value in old.record.writes_of(key):
            by_task.setdefault((task, path), []).append([index, channel, value])
        for (task, path), writes in by_task.items():
            yield from self.record_writes(new, records_of(key, task, path, writes), key)
