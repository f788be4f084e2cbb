"""The engine: one leased thread, step by step, until it must stop.

A step: the ready nodes work, their updates are merged in the order of the graph, one statement
commits the checkpoint. The state and its digests stay in memory between the steps of a lease; the
connection is only used for the short statements in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars

from checkpoints.errors import InvalidValue, LeaseLost
from checkpoints.queries.states import keyframes
from checkpoints.records import Position, Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind, Status

from ..authoring.errors import (
    Asleep,
    Expired,
    GateReached,
    Halted,
    HandBack,
    OutsideActivity,
    Parked,
)
from ..authoring.graph import Node
from ..authoring.time_limits import within
from ..node.context import Context
from ..step.advice import reason_of
from ..step.answers import answered
from ..step.guard import begin, freed, guarded
from ..step.ledger import Ledger
from ..step.outages import Unrecorded, sure
from ..step.step import Agent, Heart, OpenStep
from .commits import commit
from .inputs import take_input
from .opened import open_thread
from .step_outcomes import fail, halt, keep, park, rejected, unfit, wait

log = structlog.get_logger("gatepost.engine")


@dataclass
class Engine:
    """Works on one thread under its lease. `slice_seconds` bounds how long without a break.

    `guard` refuses in node code what belongs into an activity.
    """

    agent: Agent
    ledger: Ledger
    heart: Heart
    stopping: Callable[[], bool]
    slice_seconds: float = 30.0
    guard: bool = True

    def advance(self, work: Work) -> None:
        """Work on the thread until it waits, ends, fails, or its time slice is over.

        Raises LeaseLost when somebody took the thread away; nothing was written after that.
        """
        graph = self.agent.graph
        began = time.monotonic()
        begin(on=self.guard)
        # Steps up to here may have a past; under a thread's first lease none has. A head that is
        # skipped below leaves the steps after it worked once already.
        known = work.step + 1 if work.fence > 1 else 0
        opened = self._open(work)
        if opened is None:
            return
        folder, digests = opened
        first = True
        seen = 0  # the wake_seq whose messages were looked at: without news there is no look
        resumed = False
        while True:
            if self._before_step(work, began, first=first):
                return
            past = resumed or work.step < known
            # What came with the lease is as of then: it is used up at once, or never.
            run = self._open_step(work, look=first or past, resumed=past)
            if graph.inbox and work.wake_seq != seen and not run.begun:
                looked = work.wake_seq
                if take_input(work, graph, self.ledger, folder, digests):
                    self._keyframe(work, folder.state, digests.size)
                    continue
                seen = looked
            first = resumed = False
            outcome = self._work_nodes(run, folder.state)
            if outcome is None:
                if work.status is not Status.RUNNING:
                    return
                resumed = True  # News arrived while going to sleep: look at the step again.
                continue
            if not commit(graph, self.ledger, run, folder, digests, outcome):
                return
            self._keyframe(work, folder.state, digests.size)
            if work.status is not Status.RUNNING:
                return

    def _open(self, work: Work) -> tuple[deltas.Folder, Digests] | None:
        """The head's state and digests; None when the thread was left because of them."""
        try:
            state, digests = open_thread(work, self.agent, self.ledger)
        except Parked as stop:
            park(self.ledger, work, stop)
            return None
        except (InvalidValue, OutsideActivity) as error:
            unfit(self.ledger, work, error)
            return None
        return deltas.Folder(state), digests

    # ---- before a step -----------------------------------------------------------------------

    def _before_step(self, work: Work, began: float, *, first: bool) -> bool:
        """Obey wishes and the clock; True when the thread was left."""
        self.heart.check()
        if work.wish == "pause":
            self.ledger.leave(
                work,
                EventKind.THREAD_PAUSED,
                reason="Paused by a person",
                data={"by": work.wish_by},
            )
            return True
        if not work.next_nodes:
            # A fork of the end: what there was to do is done.
            self.ledger.leave(work, EventKind.THREAD_SUCCEEDED)
            return True
        if self._pauses(work):
            self.ledger.leave(
                work, EventKind.THREAD_PAUSED, reason=f"Paused before {work.pause_at}"
            )
            return True
        if self.stopping():
            self.ledger.hand_back(work, "the worker stops")
            return True
        if not first and time.monotonic() - began > self.slice_seconds:
            self.ledger.hand_back(work, "the time slice is over")
            return True
        return False

    def _pauses(self, work: Work) -> bool:
        """Whether a node before which people want it to pause works in the next step."""
        at = work.pause_at
        return bool(at) and at in self.agent.graph.joins.ready(work.next_nodes)

    @cached_property
    def _freed(self) -> Ledger:
        """The ledger as it is called out of nodes."""
        return freed(sure(self.ledger))

    def _open_step(self, work: Work, *, look: bool, resumed: bool) -> OpenStep:
        model, retry = self.agent.model, self.agent.graph.retry
        heart = sure(self.heart)
        run = OpenStep(work, work.step + 1, self._freed, heart, self.stopping, model, retry)
        run.on_failure = self.agent.graph.on_failure
        run.woken = work.wake_seq
        run.resumed = resumed
        if look:
            run.records = answered(self.ledger.recorded(work, run.step))
            for a in self.ledger.approvals(work, run.step):
                if not a.gate and a.kind != "question":
                    continue  # what people want to do to the thread is no concern of its nodes
                run.requests[a.id] = a
                run.decided[Position(a.branch, a.step, a.node, a.index, a.key)] = a
        return run

    # ---- nodes -------------------------------------------------------------------------------

    def _work_nodes(
        self, run: OpenStep, state: dict[str, Any]
    ) -> list[tuple[Node, dict[str, Any]]] | None:
        """The validated updates of all ready nodes in graph order; None when the step stopped."""
        graph = self.agent.graph
        done: list[tuple[Node, dict[str, Any]]] = []
        fresh: list[tuple[Node, dict[str, Any]]] = []
        stops: list[GateReached] = []
        sleep: Asleep | None = None
        names = graph.joins.ready(run.work.next_nodes)
        ready = [n for n in graph.nodes.values() if n.name in names]
        missing = set(run.work.next_nodes) - set(graph.nodes)
        if missing or not ready:
            park(
                self.ledger,
                run.work,
                Parked(f"The installed code has no node named {', '.join(sorted(missing))!r}."),
            )
            return None
        for node in ready:
            position = Position(run.work.branch, run.step, node.name, 0, "node")
            known = run.record_at(position)
            if known is not None and known.state == "done":
                done.append((node, known.result))
                continue
            try:
                checked = self._work_node(run, node, state)
            except GateReached as stop:
                stops.append(stop)
            except Asleep as stop:
                sleep = stop if sleep is None or stop.seconds < sleep.seconds else sleep
            except HandBack:
                keep(self.ledger, run, fresh)
                self.ledger.hand_back(run.work, "the worker stops")
                return None
            except Parked as stop:
                keep(self.ledger, run, fresh)
                park(self.ledger, run.work, stop, run.take_events())
                return None
            except Halted as stop:
                keep(self.ledger, run, fresh)
                halt(self.ledger, run, stop)
                return None
            except Unrecorded as stop:
                raise stop.error from None
            except (LeaseLost, MemoryError):
                raise
            except InvalidValue as error:
                rejected(run, node, error)
                fail(
                    self.ledger,
                    run,
                    node,
                    f"returned what the schema of the state refuses: {error}",
                )
                return None
            except Exception as error:
                if isinstance(error, Expired) and node.on_expired:
                    done.append((node.late, {}))
                    continue
                log.info("step.failed", thread=str(run.work.thread), node=node.name, exc_info=True)
                keep(self.ledger, run, fresh)
                fail(self.ledger, run, node, reason_of(error, node.call))
                return None
            else:
                done.append((node, checked))
                fresh.append((node, checked))
        if stops:
            keep(self.ledger, run, fresh)
            wait(self.ledger, run, stops)
            return None
        if sleep is not None:
            keep(self.ledger, run, fresh)
            self.ledger.leave(
                run.work,
                EventKind.THREAD_SLEPT,
                reason=sleep.reason,
                wake_at_seconds=sleep.seconds,
                events=run.take_events(),
                data={"seconds": round(sleep.seconds, 3)},
            )
            return None
        return done

    def _work_node(self, run: OpenStep, node: Node, state: dict[str, Any]) -> dict[str, Any]:
        """The validated update of a node."""
        graph = self.agent.graph
        with (
            bound_contextvars(step=run.step, node=node.name),
            within(run.work.token, node.name, node.time_limit or graph.step_seconds),
            guarded(node.call),
        ):
            update = node.call(graph.view(state), Context(run, node.name))
            return graph.checked_update(update, node.name)

    def _keyframe(self, work: Work, state: dict[str, Any], state_bytes: int) -> None:
        """Cache the full state when it is due, after the commit and in a transaction of its own."""
        if keyframes.due(work.unfolded, work.unfolded_rows, state_bytes):
            self.ledger.keyframe(work, state)
