"""The ledger of a hot agent: small steps wait in the hot store, everything else drains them first.

A step is buffered where it only moves the state on. A call, a gate, an effect, a message, a stop
and the end go to PostgreSQL, after all that was buffered before them: nothing outside rests on what
PostgreSQL does not have. The hot store says whether an append came in time; who has the thread is
PostgreSQL's to say, so a refused append is settled there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import structlog
from django.db import DatabaseError, InterfaceError, transaction

from checkpoints import leases, store
from checkpoints.durabilities import DURABLE, HOT
from checkpoints.errors import LeaseLost
from checkpoints.hot import streams
from checkpoints.hot.appends import Appends
from checkpoints.queries.states import keyframes
from checkpoints.records import Work
from checkpoints.states import Status
from checkpoints.store import NewCheckpoint, NewEvent

from ..authoring.graph import Graph
from .ledger import DatabaseLedger, Ledger
from .step import Agent

log = structlog.get_logger("gatepost.worker")
# Steps in one append; fewer where the former one was sent this many seconds ago.
STEPS_AT_ONCE: Final = 10
APPEND_SECONDS: Final = 0.005
# How often a wish, a message and the lease are looked for between steps that PostgreSQL sees late.
LOOK_SECONDS: Final = 0.2
# How often the state is cached: readers fold what came since.
KEYFRAME_SECONDS: Final = 1.0
# What neither reads nor writes the thread's own past.
_BESIDE: Final = frozenset(
    (
        *("agent", "approvals", "artifact", "artifact_path", "asks_before_nodes", "cache"),
        *("cached", "channel_cipher", "clock", "code", "config", "has_faulty_keys", "held_off"),
        *("hold_off", "inputs", "may_block", "open_artifact", "pause_reason"),
        *("recorded", "reusable", "signals", "terms", "thoughts", "trace"),
    )
)


def ledger_for(agent: Agent | None, work: Work) -> tuple[Ledger, Work]:
    """The ledger for a lease, and the work once what a former lease buffered is drained.

    Raises LeaseLost, HotStoreAway.
    """
    graph = None
    if agent is not None and agent.graph.durability == HOT and work.status is Status.RUNNING:
        graph = agent.graph
    if graph is not None and graph.acknowledge != DURABLE:
        ledger = HotLedger(work, graph)
        return cast("Ledger", ledger), ledger.work
    if work.status is Status.RUNNING and (work.crash_count or _is_other_code(agent, work)):
        # Its code may have been hot: what a former lease buffered comes first.
        with transaction.atomic():
            settled = store.settle_stream(work.thread, actor=work.owner)
        if settled is not None:
            work = _as_it_is_now(work)
    if graph is not None:
        return cast("Ledger", BatchLedger(work, graph)), work
    return DatabaseLedger(), work


def _is_other_code(agent: Agent | None, work: Work) -> bool:
    return agent is not None and work.agent_version not in agent.versions


class HotLedger:
    """A ledger that appends steps to the thread's stream; for one lease."""

    def __init__(self, work: Work, graph: Graph) -> None:
        self.work = work
        self._may_buffer = graph.may_buffer
        self._behind = DatabaseLedger()
        self._waiting: list[bytes] = []  # encoded, not sent yet
        self._sent = 0.0  # when the last append was sent
        self._buffered = False  # whether the stream has, or may have, entries
        self._may_append = False
        self._appends: Appends | None = None  # while it may, but for those who need no hot store
        self._looked = self._keyframed = time.monotonic()
        # The newest checkpoint that the hot store has acknowledged, and the newest reported one.
        self._acknowledged = self._reported = work.number
        self._begin()

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Any] = getattr(self._behind, name)
        if name in _BESIDE:
            self.__dict__[name] = method
            return method

        def settled(*args: Any, **kwargs: Any) -> Any:
            self._settle()
            return method(*args, **kwargs)

        self.__dict__[name] = settled
        return settled

    def commit(
        self,
        work: Work,
        checkpoint: NewCheckpoint,
        *,
        before: Sequence[NewEvent] = (),
        events: Sequence[NewEvent] = (),
        **more: Any,
    ) -> None:
        """Buffer a step; commit one that is more than that, or too large, after those before it."""
        follows = (
            checkpoint.source == "step"
            and checkpoint.parent == work.head
            and self._may_buffer(checkpoint.nodes, checkpoint.delta)
        )
        if follows and self._may_append and not any(more.values()) and not work.crash_count:
            entry, delta_bytes = store.encode_step(work, checkpoint, before=before, events=events)
            if len(entry) <= store.buffered_bytes_max():
                self._buffer(checkpoint, entry, delta_bytes)
                return
        self._settle()
        self._behind.commit(work, checkpoint, before=before, events=events, **more)
        self._looked = time.monotonic()
        if not self._may_append and work.status is Status.RUNNING:
            self._open()

    def keyframe(self, work: Work, state: dict[str, Any]) -> None:
        """Cache the state once all before it is in PostgreSQL: seldom, as that takes a drain."""
        now = time.monotonic()
        if now - self._keyframed >= KEYFRAME_SECONDS:
            self._keyframed = now
            self._settle()
            self._behind.keyframe(work, state)

    def over_budget(self, work: Work) -> str:
        """As the database's ledger says it; the budget of a fork counts what was buffered."""
        if work.base is not None and not self._behind.has_no_budget:
            self._settle()
        return self._behind.over_budget(work)

    def report(self) -> None:
        """Tell PostgreSQL how far the hot store has acknowledged; called with each heartbeat."""
        number = self._acknowledged
        if number > self._reported:
            store.report_buffered(self.work.thread, token=self.work.token, number=number)
            self._reported = number

    def close(self) -> None:
        """Let nobody append by this lease any more."""
        self._stop_appending()
        try:
            if not self._buffered:
                store.forget_stream(self.work.thread, token=self.work.token)
            streams.close_stream(self.work.thread, seq=self.work.last_seq)
        except (DatabaseError, InterfaceError) as error:
            log.warning("hot.not_closed", error=str(error))

    def _begin(self) -> None:
        """Settle what a former lease left, and open the stream for this one."""
        work = self.work
        if store.settle_former(work):
            self.work = work = _as_it_is_now(work)
        self._open()
        if self._buffered:
            store.drain(work.thread)
            self._buffered = False
            self.work = _as_it_is_now(work)

    def _open(self) -> None:
        """Open the thread's stream for this lease; without it steps are committed."""
        try:
            self._appends = Appends(self.work.thread, seq=self.work.last_seq)
        except streams.Fenced:
            # A person's change has closed it and came to nothing: the next commit knows more.
            self._stop_appending()
        else:
            self._may_append = True
            self._buffered = self._buffered or bool(self._appends.n_former)
            # Before the first append, and again: a change that came to nothing has dropped it.
            store.note_stream(self.work)

    def _stop_appending(self) -> list[bytes]:
        """Append no more until the stream is opened anew; the steps that are not acknowledged."""
        appends, self._appends, self._may_append = self._appends, None, False
        if appends is None:
            return []
        appends.close()
        return appends.unanswered

    def _buffer(self, checkpoint: NewCheckpoint, entry: bytes, delta_bytes: int) -> None:
        """Take a step as done, and append it with others where they come quickly."""
        work, now = self.work, time.monotonic()
        self._waiting.append(entry)
        work.head, work.number, work.step = checkpoint.id, checkpoint.number, checkpoint.step
        work.branch, work.branch_start = checkpoint.branch, checkpoint.branch_start
        work.next_nodes = tuple(checkpoint.next_nodes)
        work.unfolded += keyframes.weight(delta_bytes)
        work.unfolded_rows += 1
        is_due = now - self._looked >= LOOK_SECONDS
        if is_due or len(self._waiting) >= STEPS_AT_ONCE or now - self._sent >= APPEND_SECONDS:
            self._sent = now
            self._append(wait=is_due)
        if is_due:
            self._looked = now
            if not store.refresh(work):
                raise LeaseLost(thread=work.thread)

    def _append(self, *, wait: bool = False) -> None:
        """Send the steps that wait, and `wait` until all is acknowledged.

        What the hot store refuses is written to PostgreSQL. It may be noticed some steps late: who
        has lost the thread by then loses those steps, which have done nothing else.
        """
        entries, self._waiting = self._waiting, []
        if self._appends is not None:
            try:
                if entries:
                    self._buffered = True
                    self._appends.append(entries)
                if wait:
                    self._appends.wait()
            except (streams.Fenced, streams.Full):
                entries = self._stop_appending()
            else:
                self._acknowledged = self.work.number - self._appends.n_unanswered
                return
        if entries:
            store.drain(self.work.thread)
            self._buffered = False
            store.write_steps(self.work, entries)
            self._look()
            self._open()

    def _look(self) -> None:
        """Learn the thread's version and its newest event, but no news: a step has not seen them.

        A step that waits is left only if there are none since it began.
        """
        seen = self.work.wake_seq
        if not store.refresh(self.work):
            raise LeaseLost(thread=self.work.thread)
        self.work.wake_seq = seen

    def _settle(self) -> None:
        """Bring everything that was buffered to PostgreSQL, where the lease is then checked."""
        self._append(wait=True)
        if self._buffered:
            store.drain(self.work.thread)
            self._buffered = False
            store.check_drained(self.work)


class BatchLedger(HotLedger):
    """The ledger of a hot agent that acknowledges in PostgreSQL: steps go there in batches.

    The hot store has no part in it: an append before the commit would add a flush and no promise.
    """

    def close(self) -> None:
        """Take no further step."""
        self._may_append = False

    def report(self) -> None:
        """Nothing: PostgreSQL knows."""

    def _begin(self) -> None:
        self._open()

    def _open(self) -> None:
        self._may_append = True

    def _append(self, *, wait: bool = False) -> None:
        """Write the steps that wait, under the lease, in one transaction."""
        if self._waiting:
            store.write_steps(self.work, self._waiting)
            self._waiting = []
            # From here on: a slow commit would else be followed by one for a single step.
            self._sent = time.monotonic()


def _as_it_is_now(work: Work) -> Work:
    """The work under the same lease after its thread's head moved; raises LeaseLost."""
    result = leases.held(work.thread, token=work.token, workspace=work.workspace)
    if result is None:
        raise LeaseLost(thread=work.thread)
    return result
