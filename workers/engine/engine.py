"""The engine: works on one leased thread, step by step, until it must stop.

The state and its digests stay in memory between the steps of a lease; the connection is only used
for the short statements in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import CannotDecrypt, InvalidValue
from checkpoints.queries.states import keyframes
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import Status

from ..authoring.errors import OutsideActivity, Parked
from ..step.guard import begin, freed
from ..step.ledger import Ledger
from ..step.outages import sure
from ..step.step import Agent, Heartbeat, OpenStep
from .between_steps import leave_if_due
from .commits import commit
from .inputs import take_input
from .node_outcomes import Done, work_nodes
from .opened import open_thread
from .step_limit import StepLimit
from .step_outcomes import (
    leave_open_effects,
    leave_unfinished,
    leave_unreached_effects,
    park,
    unfit,
    unreadable,
)


@dataclass
class Engine:
    """Works on one thread under its lease. `slice_seconds` bounds how long without a break.

    `guard` refuses in node code what belongs into an activity; `nodes_at_once` of a step's nodes
    work at the same time where the graph does not say.
    """

    agent: Agent
    ledger: Ledger
    heartbeat: Heartbeat
    stopping: Callable[[], bool]
    slice_seconds: float = 30.0
    guard: bool = True
    nodes_at_once: int = 8

    def advance(self, work: Work) -> None:
        """Work on the thread until it waits, ends, fails, or its time slice is over.

        1. Load the state of the head, under the installed code.
        2. Obey wishes, the clock and the limit of steps: it may be left before its next step.
        3. Open the step with what is recorded of it.
        4. Take messages that wait into the state, as a checkpoint of their own; then from 2.
        5. Work the ready nodes.
        6. If one failed, waits or sleeps, leave the thread; with news meanwhile, again from 2.
        7. Leave the thread to a person where an effect of a former attempt was not settled.
        8. Merge the updates and commit the checkpoint; cache the state when due; then from 2.

        Raises LeaseLost when somebody took the thread away; nothing was written after that.
        """
        graph, ledger = self.agent.graph, self.ledger
        ends = time.monotonic() + self.slice_seconds
        at_once = graph.nodes_at_once or self.nodes_at_once
        begin(on=self.guard)
        # Steps up to here may have been begun before; under a thread's first lease none was. Read
        # before the load: a corrupt head is skipped there, and the steps after it were worked.
        begun_until = work.step + 1 if work.fence > 1 else 0
        encrypted = ThreadState(graph.encrypted, partial(ledger.channel_cipher, work))
        loaded = self._load(work, encrypted)
        if loaded is None:
            return
        folder, digests = loaded
        first, resumed = True, False
        limit = StepLimit(graph)
        messages_seen = 0  # the wake_seq at the last look: without news there is no look
        while work.status is Status.RUNNING:
            self.heartbeat.check()
            is_over = not first and time.monotonic() > ends
            if leave_if_due(work, graph, ledger, worker_stops=self.stopping, slice_is_over=is_over):
                return
            if limit.leave_if_reached(work, ledger):
                return
            resumed = resumed or work.step < begun_until
            step = self._open_step(work, encrypted, look=first or resumed, resumed=resumed)
            if leave_open_effects(ledger, step):
                return
            if graph.message_channel and work.wake_seq != messages_seen and not step.begun:
                if take_input(work, graph, ledger, folder, digests, encrypted):
                    self._keyframe(work, folder.state, digests.size)
                    continue
                messages_seen = work.wake_seq
            first = False
            outcomes = work_nodes(graph, step, folder.state, at_once=at_once)
            if leave_unfinished(ledger, step, outcomes):
                resumed = True
                continue
            done = [outcome for outcome in outcomes if isinstance(outcome, Done)]
            if leave_unreached_effects(ledger, step):
                return
            if not commit(graph, ledger, step, folder, digests, done):
                return
            self._keyframe(work, folder.state, digests.size)
            resumed = False

    def _load(self, work: Work, encrypted: ThreadState) -> tuple[deltas.Folder, Digests] | None:
        """The head's state and digests; None when the thread was left because of them."""
        try:
            state, digests = open_thread(work, self.agent, self.ledger, encrypted)
        except Parked as stop:
            park(self.ledger, work, stop)
            return None
        except (InvalidValue, OutsideActivity) as error:
            unfit(self.ledger, work, error, encrypted)
            return None
        except CannotDecrypt as error:
            unreadable(self.ledger, work, error)
            return None
        return deltas.Folder(state), digests

    @cached_property
    def _node_ledger(self) -> Ledger:
        """The ledger as nodes call it, out from under their guard."""
        return freed(sure(self.ledger))

    @cached_property
    def _node_heartbeat(self) -> Heartbeat:
        """The heartbeat as nodes ask it."""
        return sure(self.heartbeat)

    def _open_step(
        self, work: Work, encrypted: ThreadState, *, look: bool, resumed: bool
    ) -> OpenStep:
        """The next step; with `look`, what is recorded and asked of it is read."""
        graph = self.agent.graph
        step = OpenStep(
            work,
            work.step + 1,
            self._node_ledger,
            self._node_heartbeat,
            self.stopping,
            self.agent.model,
            graph.prompts,
            graph.retry,
            secrets_allowed=graph.secrets_allowed,
            on_failure=graph.on_failure,
            woken=work.wake_seq,
            resumed=resumed,
            encrypted=encrypted,
        )
        if look:
            step.look()
        return step

    def _keyframe(self, work: Work, state: dict[str, Any], state_bytes: int) -> None:
        """Cache the full state when it is due, after the commit and in a transaction of its own."""
        if keyframes.due(work.unfolded, work.unfolded_rows, state_bytes):
            self.ledger.keyframe(work, state)
