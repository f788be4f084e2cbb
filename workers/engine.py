"""The engine: one leased thread, step by step, until it must stop.

A step: the ready nodes work, their updates are merged in the order of the graph, one statement
commits the checkpoint. The state and its digests stay in memory between the steps of a lease; the
connection is only used for the short statements in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars
from uuid_utils.compat import uuid7

from approvals.gates import Proposal
from checkpoints import deltas, keyframes
from checkpoints.channels import Digests, build_delta
from checkpoints.errors import InvalidValue, LeaseLost
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind, Status
from checkpoints.store import NewCheckpoint, NewEvent

from .advice import TOLD_BYTES, place_of, storable
from .answers import answered, describe, kept
from .context import Context
from .errors import Asleep, GateReached, HandBack, Parked
from .graph import END, Node
from .inbox import take_input
from .ledger import Ledger
from .opening import open_thread
from .step import Agent, Heart, OpenStep

log = structlog.get_logger("gatepost.engine")


@dataclass
class Engine:
    """Works on one thread under its lease. `slice_seconds` bounds how long without a break."""

    agent: Agent
    ledger: Ledger
    heart: Heart
    stopping: Callable[[], bool]
    slice_seconds: float = 30.0

    def advance(self, work: Work) -> None:
        """Work on the thread until it waits, ends, fails, or its time slice is over.

        Raises LeaseLost when somebody took the thread away; nothing was written after that.
        """
        graph = self.agent.graph
        began = time.monotonic()
        # Steps up to here may have a past; under a thread's first lease none has. A head that is
        # skipped below leaves the steps after it worked once already.
        known = work.step + 1 if work.fence > 1 else 0
        try:
            state, digests = open_thread(work, self.agent, self.ledger)
        except Parked as stop:
            self._park(work, stop)
            return
        except InvalidValue as error:
            self._unfit(work, error)
            return
        folder = deltas.Folder(state)
        first = True
        seen = 0  # of wake_seq: a thread without news costs no look
        resumed = False
        while True:
            if self._before_step(work, began, first=first):
                return
            run = self._open_step(work, resumed=resumed or work.step < known)
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
            if not self._commit(run, folder, digests, outcome):
                return
            self._keyframe(work, folder.state, digests.size)
            if work.status is not Status.RUNNING:
                return

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
        if work.pause_at and work.pause_at in work.next_nodes:
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

    def _open_step(self, work: Work, *, resumed: bool) -> OpenStep:
        model = self.agent.model
        run = OpenStep(work, work.step + 1, self.ledger, self.heart, self.stopping, model)
        if resumed:
            run.records = answered(self.ledger.recorded(work, run.step))
            run.decided = {
                Position(a.branch, a.step, a.node, a.index, a.key): a
                for a in self.ledger.approvals(work, run.step)
            }
            run.resumed = True
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
        sleep: float | None = None
        ready = [n for n in graph.nodes.values() if n.name in run.work.next_nodes]
        missing = set(run.work.next_nodes) - set(graph.nodes)
        if missing or not ready:
            self._park(
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
                with bound_contextvars(step=run.step, node=node.name):
                    update = node.call(graph.view(state), Context(run, node.name))
                checked = graph.checked_update(update, node.name)
            except GateReached as stop:
                stops.append(stop)
            except Asleep as stop:
                sleep = stop.seconds if sleep is None else min(sleep, stop.seconds)
            except HandBack:
                self._keep(run, fresh)
                self.ledger.hand_back(run.work, "the worker stops")
                return None
            except Parked as stop:
                self._keep(run, fresh)
                self._park(run.work, stop, run.take_events())
                return None
            except LeaseLost:
                raise
            except InvalidValue as error:
                self._rejected(run, node, error)
                self._fail(run, node, f"returned what the schema of the state refuses: {error}")
                return None
            except Exception as error:
                log.info("step.failed", thread=str(run.work.thread), node=node.name, exc_info=True)
                self._keep(run, fresh)
                self._fail(run, node, describe(error) + place_of(error, node.call))
                return None
            else:
                done.append((node, checked))
                fresh.append((node, checked))
        if stops:
            self._keep(run, fresh)
            self._wait(run, stops)
            return None
        if sleep is not None:
            self._keep(run, fresh)
            self.ledger.leave(
                run.work,
                EventKind.THREAD_SLEPT,
                wake_at_seconds=sleep,
                events=run.take_events(),
                data={"seconds": round(sleep, 3)},
            )
            return None
        return done

    def _keep(self, run: OpenStep, fresh: Sequence[tuple[Node, dict[str, Any]]]) -> None:
        """Save what siblings have finished in a step that stops before its end."""
        for node, update in fresh:
            position = Position(run.work.branch, run.step, node.name, 0, "node")
            self.ledger.record(
                run.work,
                NewActivity(
                    id=uuid7(),
                    position=position,
                    kind="node",
                    tool=node.name,
                    args={},
                    idempotency_key="",
                ),
                result=update,
                events=run.take_events(),
            )

    def _wait(self, run: OpenStep, stops: Sequence[GateReached]) -> None:
        """running -> waiting, with the new requests; or round once more when news arrived."""
        new: list[Proposal] = [s.proposal for s in stops if s.proposal is not None]
        titles = [p.title for p in new]
        self.ledger.ask(
            run.work,
            new,
            events=run.take_events(),
            waiting_on={"kind": "gate", "nodes": list(run.work.next_nodes), "titles": titles},
        )

    def _rejected(self, run: OpenStep, node: Node, error: InvalidValue) -> None:
        run.add_event(
            NewEvent(
                EventKind.UPDATE_REJECTED,
                {"node": node.name, "path": error.path, "why": kept(error.reason)},
                run.work.owner,
            )
        )

    def _unfit(self, work: Work, error: InvalidValue) -> None:
        """Fail a thread whose state the installed schema refuses: an input, an edit, other code."""
        self.ledger.leave(
            work,
            EventKind.THREAD_FAILED,
            reason=f"The state does not fit the schema of {work.agent!r}: {kept(str(error))}. "
            "Edit the state, then retry.",
            data={"path": error.path},
        )

    def _fail(self, run: OpenStep, node: Node, reason: str) -> None:
        reason = kept(reason)
        run.add_event(
            NewEvent(
                EventKind.STEP_FAILED,
                {"node": node.name, "step": run.step, "error": reason},
                run.work.owner,
            )
        )
        self.ledger.leave(
            run.work,
            EventKind.THREAD_FAILED,
            reason=f"{node.name}: {reason}"[:2000],
            data={"node": node.name},
            events=run.take_events(),
        )

    def _park(self, work: Work, stop: Parked, events: Sequence[NewEvent] = ()) -> None:
        self.ledger.leave(
            work,
            EventKind.THREAD_PARKED,
            reason=stop.reason,
            waiting_on=stop.waiting_on,
            events=events,
        )

    # ---- the commit --------------------------------------------------------------------------

    def _commit(
        self,
        run: OpenStep,
        folder: deltas.Folder,
        digests: Digests,
        done: Sequence[tuple[Node, dict[str, Any]]],
    ) -> bool:
        """Merge, choose the way on, commit; False when the step failed.

        State and digests grow in place, at the cost of what the step adds. After a failure they
        are ahead of the head: the caller stops and forgets them.
        """
        graph, work = self.agent.graph, run.work
        try:
            delta = build_delta(folder.state, [(n.name, u) for n, u in done], graph.reducers)
            folder.add(delta)
            graph.check_state(folder.state)
            following, ways = self._ways(run, folder.state, done)
        except InvalidValue as error:
            self._rejected(run, done[0][0], error)
            self._fail(run, done[0][0], f"The updates do not fit together: {error}")
            return False
        except Exception as error:
            self._fail(run, done[0][0], describe(error))
            return False
        root = digests.update(delta, folder.state)
        try:
            deltas.check_size(digests.size, deltas.LIMITS.state_bytes, "the state")
        except InvalidValue as beyond:
            too_large = InvalidValue(deltas.at("$", _largest(delta)), beyond.reason)
            self._rejected(run, done[0][0], too_large)
            self._fail(run, done[0][0], f"{too_large}. Keep what is large with ctx.artifact.")
            return False
        checkpoint = NewCheckpoint(
            id=uuid7(),
            number=work.number + 1,
            step=run.step,
            branch=work.branch,
            branch_start=work.branch_start,
            parent=work.head,
            parent_thread=work.thread,
            parent_number=work.number,
            source="step",
            nodes=[n.name for n, _ in done],
            next_nodes=following,
            delta=delta,
            state_hash=root,
            state_bytes=digests.size,
            schema_version=self.agent.graph.schema_version,
            agent_version=work.agent_version,
            created_by=work.owner,
        )
        self.ledger.commit(
            work,
            checkpoint,
            before=run.take_events(),
            events=ways,
            leave_by=None if following else EventKind.THREAD_SUCCEEDED,
        )
        return True

    def _ways(
        self, run: OpenStep, state: dict[str, Any], done: Sequence[tuple[Node, Any]]
    ) -> tuple[list[str], list[NewEvent]]:
        graph = self.agent.graph
        chosen: set[str] = set()
        events = []
        for node, _ in done:
            view = graph.view(state) if callable(node.then) else None
            names, because = node.next_nodes(view)
            chosen.update(n for n in names if n != END)
            if because is not None:
                storable(because, f"Why {node.name!r} goes this way", at_most=TOLD_BYTES)
                events.append(
                    NewEvent(
                        EventKind.WAY_TAKEN,
                        {"from": node.name, "to": list(names), "because": because},
                        run.work.owner,
                    )
                )
        return [n for n in graph.nodes if n in chosen], events

    def _keyframe(self, work: Work, state: dict[str, Any], state_bytes: int) -> None:
        """Cache the full state when it is due, after the commit and in a transaction of its own."""
        if keyframes.due(work.unfolded, work.unfolded_rows, state_bytes):
            self.ledger.keyframe(work, state)


def _largest(delta: deltas.Delta) -> str:
    """The channel to which a delta adds most."""
    bodies = (delta.get("set", {}), delta.get("append", {}), delta.get("merge", {}))
    sizes = {c: len(deltas.canonical(value)) for body in bodies for c, value in body.items()}
    return max(sizes, key=lambda channel: sizes[channel], default="")


def refuse_missing(ledger: Ledger, work: Work) -> None:
    """Park a thread whose agent is not installed here."""
    ledger.leave(
        work,
        EventKind.THREAD_PARKED,
        reason=(
            f"No code for the agent {work.agent!r} is installed in the worker that serves it. "
            "Install it (GATEPOST_AGENTS), restart the worker, then retry."
        ),
        waiting_on={"kind": "agent"},
    )
