"""The ledger of ephemeral threads: a turn happens in this process and leaves no history.

The state lies in memory (`checkpoints.ephemeral.copies`): read when a turn begins, written when it
ends. PostgreSQL has the thread's row and an event for the begin and the end of each turn. What a
record would be needed for is refused, and ends the turn with the reason: nobody can be asked, and
nothing can be waited for, undone or called again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from approvals.gates import Proposal
from approvals.policies import reservations
from approvals.policies.matches import PolicyAnswer
from approvals.policies.reservations import Estimate, Refusal
from approvals.queries import ApprovalRow
from approvals.rules.headlines import headline
from checkpoints import queries, store
from checkpoints.durabilities import FORGOTTEN, SEND_AGAIN, TTL_DEFAULT
from checkpoints.ephemeral import copies
from checkpoints.ephemeral.copies import Copy, Point
from checkpoints.errors import ContentAway, LeaseLost
from checkpoints.log.traces import TraceContext
from checkpoints.queries import Range
from checkpoints.records import NewActivity, Position, Work
from checkpoints.signals import activity_progressed
from checkpoints.state import deltas
from checkpoints.state.channels import Append, Digests, Reducer
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint, NewEvent, Totals
from checkpoints.views import ActivityRow, InputRow, SignalRow

from ..authoring.errors import Parked, StepFailed
from ..authoring.graph import Graph
from . import result_cache
from .ledger import DatabaseLedger
from .memories import Memories
from .rules import Rules

OTHER_SCHEMA: Final = (
    "The code of this agent has another state schema now, and the state in memory has no upgrade. "
    "Start a new thread."
)
LOST: Final = f"The worker was lost in the middle of this turn. {SEND_AGAIN}"
STOPPED: Final = f"The worker had to stop in the middle of this turn. {SEND_AGAIN}"
BREAKER: Final = f"A breaker stopped this thread in the middle of a turn. {SEND_AGAIN}"
REASON_MAX: Final = 2_000
# A worker is held for so long by waits of one turn; what takes longer sleeps, up to so long.
HERE_SECONDS_MAX: Final = 5.0
SLEEP_SECONDS_MAX: Final = 60.0
# Ways to leave that hold a thread for later.
_HELD: Final = (
    EventKind.THREAD_SUSPENDED,
    EventKind.THREAD_SLEPT,
    EventKind.THREAD_PARKED,
)


def _refused(what: str) -> Callable[..., Any]:
    """Make a call of the ledger that ends the node with a reason."""

    def refuse(_self: EphemeralLedger, *_args: Any, **_more: Any) -> Any:
        raise StepFailed(f"This agent keeps nothing, so it can't {what}.")

    return refuse


@dataclass(slots=True)
class _Turn:
    """The state of a turn in this process, and what it added to each list."""

    began: Point
    folder: deltas.Folder
    lists: tuple[str, ...]
    config: dict[str, Any]


class EphemeralLedger(Rules, Memories):
    """The ledger of one turn of an ephemeral thread, for one lease."""

    def __init__(self, graph: Graph) -> None:
        self._ttl = int(graph.describe_graph().get("ttl", TTL_DEFAULT))
        self._queue, self._schema, self._entry = graph.queue, graph.schema_version, graph.entry
        limits = [graph.step_seconds, *(node.time_limit for node in graph.nodes.values())]
        # The time limit of a node runs on while a call of it waits.
        self._waits_most = min([HERE_SECONDS_MAX, *(limit / 2 for limit in limits if limit)])
        self._behind = DatabaseLedger()
        self._turn: _Turn | None = None
        self._totals = Totals()
        self._spent: dict[Position, tuple[Decimal, int]] = {}
        self._senders: list[str] = []
        self._failures = 0
        self._has_called = False  # in the step at work
        self._waited = 0.0  # seconds, by calls that are tried again
        self._is_busy = False  # what is called wants to be called later
        self._policy = ""  # the name of the one that last said something

    # ---- the state -------------------------------------------------------------------------------

    def load(
        self, work: Work, version: UUID, reducers: dict[str, Reducer]
    ) -> tuple[dict[str, Any], Digests, int]:
        """The state in memory; a thread at rest begins at the entry again where messages wait."""
        try:
            copy = copies.load(work.thread, ttl=self._ttl)
            n_messages = copies.count_messages(work.thread)
        except ContentAway as error:
            raise Parked(error.message) from error
        if copy is None:
            raise Parked(FORGOTTEN)
        if copy.schema_version != self._schema:
            raise Parked(OTHER_SCHEMA)
        lists = tuple(name for name, r in reducers.items() if isinstance(r, Append))
        # Of its own: the engine's state and this one grow beside each other.
        own = deltas.Folder(deltas.copied(copy.state))
        self._turn = _Turn(copy.began, own, lists, dict(copy.config))
        self._failures, self._senders = copy.failures, list(copy.senders)
        work.step, work.next_nodes = copy.now.step, tuple(copy.now.next_nodes)
        if not work.next_nodes and n_messages:
            work.next_nodes = self._entry
        work.wake_seq = n_messages
        return copy.state, Digests.of(copy.state, reducers), copy.schema_version

    def commit(
        self,
        work: Work,
        checkpoint: NewCheckpoint,
        *,
        before: Sequence[NewEvent] = (),
        events: Sequence[NewEvent] = (),
        leave_by: EventKind | None = None,
        reason: str = "",
        taken: Sequence[int] = (),
        **_more: Any,
    ) -> None:
        """Move this process's own state on; the end of the turn is written with its totals."""
        turn = self._begun()
        turn.folder.add(checkpoint.delta)
        if checkpoint.step > work.step:
            self._totals.steps += 1
            self._has_called = self._is_busy = False
        work.number, work.step = checkpoint.number, checkpoint.step
        work.next_nodes = tuple(checkpoint.next_nodes)
        self._settle(work, taken)
        if leave_by is not None:
            self.leave(work, leave_by, reason=reason)
            return
        # Wishes of people and breakers, and whether the lease is still ours.
        if not store.refresh(work):
            raise LeaseLost(thread=work.thread)
        work.wake_seq = copies.count_messages(work.thread)

    def _begun(self) -> _Turn:
        if self._turn is None:
            raise StepFailed(FORGOTTEN)
        return self._turn

    def _save(self, work: Work, *, sleeps: bool = False) -> None:
        """Write the state of this turn, and beside it the point at which the turn began."""
        turn = self._begun()
        state = turn.folder.state
        lists = [name for name in turn.lists if name in state]
        values = {name: value for name, value in state.items() if name not in lists}
        lengths = {name: len(state[name]) for name in lists}
        added = {name: state[name][turn.began.lengths.get(name, 0) :] for name in lists}
        point = Point(values, lengths, work.step, work.next_nodes)
        more = (self._failures, self._senders) if sleeps else ()
        copy = Copy(point, turn.began, work.fence, self._schema, turn.config, *more)
        copies.save(work.thread, copy, added=added, ttl=self._ttl)

    # ---- how a turn ends -------------------------------------------------------------------------

    def leave(
        self,
        work: Work,
        by: EventKind,
        *,
        reason: str = "",
        data: dict[str, Any] | None = None,
        waiting_on: Any = None,
        **more: Any,
    ) -> bool:
        """End the turn, or pause it between two steps.

        What would hold the thread for later fails the turn with its reason, but for a short sleep
        before a call is tried again. The state of a turn that failed is what it was before.
        """
        payload = dict(data or {})
        wake: float | None = None
        if by is EventKind.THREAD_SLEPT and self._is_busy and reason:
            seconds = float(more["wake_at_seconds"])
            # Woken, it works the step from its start: what it has called is called once more. What
            # a turn took is written when it ends.
            is_new = not self._has_called and self._totals == Totals()
            if is_new and seconds <= min(SLEEP_SECONDS_MAX, self._ttl / 2):
                wake = seconds
            else:
                by, reason = EventKind.THREAD_FAILED, _why_not_tried_again(reason, seconds)
                payload = {}
        elif by in _HELD or payload.pop("cap", False):
            by, reason = EventKind.THREAD_FAILED, _why_not_held(by, reason, waiting_on)
            payload = {}
        if by is EventKind.THREAD_FAILED:
            reason = reason[:REASON_MAX]
            if self._turn is not None:
                copies.put_back(work.thread, fence=work.fence, ttl=self._ttl)
        else:
            self._save(work, sleeps=wake is not None)
        if self._senders and wake is None:
            payload.setdefault("by", ", ".join(dict.fromkeys(self._senders)))
        self._write(work, by, reason=reason, data=payload, wake_at_seconds=wake)
        return True

    def hand_back(self, work: Work, reason: str) -> None:
        """Between two steps another worker continues; in a step that has called, the turn ends."""
        if self._has_called:
            why = BREAKER if work.is_stopped else STOPPED
            self.leave(work, EventKind.THREAD_FAILED, reason=why)
            return
        self._save(work)
        data = {"breaker": work.wish_by} if work.is_stopped else {}
        self._write(work, EventKind.THREAD_HANDED_BACK, reason=reason, data=data)

    def _write(
        self,
        work: Work,
        by: EventKind,
        *,
        reason: str,
        data: dict[str, Any],
        wake_at_seconds: float | None = None,
    ) -> None:
        totals, self._totals = self._totals, Totals()
        store.leave_turn(
            work, by, totals, reason=reason, data=data, wake_at_seconds=wake_at_seconds
        )

    def end_lost(self, work: Work) -> None:
        """End a turn whose worker was lost: nothing of it is called again."""
        copies.put_back(work.thread, fence=work.fence - 1, ttl=self._ttl)
        self._write(work, EventKind.THREAD_FAILED, reason=LOST, data={})

    def stop_at_step_limit(self, work: Work, reason: str) -> None:
        """End the turn at its limit of steps."""
        self.leave(work, EventKind.THREAD_FAILED, reason=reason.partition(" If it")[0])

    def steps_since_outside(self, work: Work, *, at_most: int) -> int:
        """Number of steps of this turn, up to `at_most`."""
        return min(self._totals.steps, at_most)

    def ask(self, work: Work, proposals: Sequence[Proposal], **more: Any) -> bool:
        """End the turn: a call that people or a policy decide about is refused."""
        why = _why_not_asked(proposals, more, self._policy)
        self.leave(work, EventKind.THREAD_FAILED, reason=why)
        return True

    def rule(self, work: Work, tool: str, args: Any, risk: str, *, undo: str = "") -> PolicyAnswer:
        """The policies' decision on this action now."""
        return self._named(super().rule(work, tool, args, risk, undo=undo))

    def node_rule(self, work: Work, node: str) -> PolicyAnswer:
        """Ask the policies of the workspace about a node that the thread comes to."""
        return self._named(super().node_rule(work, node))

    def _named(self, answer: PolicyAnswer) -> PolicyAnswer:
        self._policy = "" if answer.rule is None else answer.rule.name
        return answer

    def begin_undo(self, work: Work, *, reason: str, events: Sequence[NewEvent]) -> bool:
        """Answer that there is nothing to undo."""
        return False

    # ---- messages --------------------------------------------------------------------------------

    def inputs(self, work: Work) -> list[InputRow]:
        """Messages that wait in memory, numbered from 1."""
        return [
            InputRow(n, m.message, m.actor, datetime.fromtimestamp(m.at, UTC))
            for n, m in enumerate(copies.messages(work.thread), 1)
        ]

    def events(self, work: Work, events: Sequence[NewEvent], **settled: Sequence[int]) -> None:
        """Keep none of them; messages that were taken are settled."""
        self._settle(work, settled.get("taken", ()))

    def _settle(self, work: Work, taken: Sequence[int]) -> None:
        if not taken:
            return
        waiting = copies.messages(work.thread)[: len(taken)]
        self._senders += [message.actor for message in waiting]
        copies.take(work.thread, len(taken), queue=self._queue)

    def signals(self, work: Work, name: str) -> list[SignalRow]:
        """Return nothing: no signal reaches such a thread."""
        return []

    # ---- calls -----------------------------------------------------------------------------------

    def record(self, work: Work, activity: NewActivity, **more: Any) -> None:
        """Count what a call took; nothing of it is kept."""
        usage = more.get("usage")
        # A node that is done and a drawn number call nobody; what is tried again counts then.
        is_final = activity.kind not in ("node", "value") and more.get("retry_in") is None
        self._has_called = self._has_called or is_final
        self._failures = self._failures + 1 if more.get("error") else 0
        self._totals.add(usage)
        if isinstance(usage, dict):
            amount = Decimal(str(usage.get("cost") or 0)), int(usage.get("tokens") or 0)
            self._spent[activity.position] = amount

    def failures(self, work: Work, activity: NewActivity) -> int:
        """Count the calls that failed one after the other, also before a sleep."""
        return self._failures

    def waits_here(self, work: Work, seconds: float) -> bool:
        """Let a call wait in its place for its next attempt, some seconds in each turn."""
        self._is_busy = True
        if self._waited + seconds > self._waits_most:
            return False
        self._waited += seconds
        return True

    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None:
        """Reserve what a call may cost; what this turn has spent counts by its reservations."""
        refusal = super().reserve(work, position, most)
        return None if refusal is None else Refusal(refusal.reason)

    def release(self, work: Work, position: Position) -> None:
        """Let the reservation hold what was spent until the totals of the turn are on record."""
        cost, tokens = self._spent.pop(position, (Decimal(0), 0))
        reservations.settle(work, position, cost, tokens)

    def state_hash(self, work: Work) -> str:
        """Return an empty hash: there is no checkpoint."""
        return ""

    def hands_on(self, work: Work) -> tuple[str, ...]:
        """Return nobody: nobody is asked, so nobody is kept out."""
        return ()

    def progress(
        self, work: Work, activity: NewActivity | None, progress: dict[str, Any], *, keep: bool
    ) -> None:
        """Show it on open pages; nothing is kept."""
        activity_progressed.send_robust(
            sender=None, thread_id=work.thread, workspace=work.workspace, progress=progress
        )

    begin_effect = _refused("change anything outside")
    end_effect = _refused("change anything outside")
    artifact = _refused("keep a file")
    open_artifact = _refused("have files")
    artifact_path = _refused("have files")
    spawn = _refused("start children")
    send = _refused("send messages to other threads")
    cancel_child = _refused("have children")
    hand_off = _refused("hand its thread over")
    await_children = _refused("wait for children or signals")
    agent = _refused("start children")
    message_channel_of = _refused("send messages to other threads")
    compensation = _refused("undo anything")
    target = _refused("be rolled back")
    activity = _refused("have records")

    def children(self, work: Work, ids: Sequence[UUID]) -> dict[UUID, Any]:
        """Return nothing: it has no children."""
        return {}

    def states_at(self, points: Any) -> list[dict[str, Any]]:
        """Return nothing: it has no children."""
        return []

    def look_for_children(self, work: Work) -> None:
        """Do nothing: it has no children."""

    def origin(self, work: Work) -> list[dict[str, str]] | None:
        """Return None: it is no child."""
        return None

    # ---- what a record would answer --------------------------------------------------------------

    def recorded(self, work: Work, step: int) -> list[ActivityRow]:
        """Return nothing: no call is recorded."""
        return []

    def reusable(self, work: Work, step: int) -> list[ActivityRow]:
        """Return nothing: no call is recorded."""
        return []

    def approvals(self, work: Work, step: int) -> list[ApprovalRow]:
        """Return nothing: nobody is asked."""
        return []

    def thoughts(self, work: Work, step: int) -> set[tuple[str, int]]:
        """Return nothing: no call is recorded."""
        return set()

    def channel_cipher(self, work: Work) -> None:
        """Return None: such an agent has no encrypted channels."""

    def keep_cursor(self, work: Work, activity: NewActivity, *, cursor: bytes, **more: Any) -> None:
        """Keep none: a call that is not repeated needs no cursor."""

    def keyframe(self, work: Work, state: dict[str, Any]) -> None:
        """Write none: there is no history to shorten."""

    def undo_failures(self, work: Work) -> dict[str, tuple[int, str]]:
        """Return nothing: no effect is undone."""
        return {}

    def upgraded_from(self, work: Work) -> set[UUID]:
        """Return nothing: no state is upgraded."""
        return set()

    def newest_sound(self, work: Work) -> None:
        """Return None: there is no checkpoint."""

    def note_damage(self, work: Work, checkpoint: UUID, what: str) -> None:
        """Note nothing: there is no checkpoint that could be damaged."""

    def lost(self, work: Work, activity: UUID) -> None:
        """Note nothing: there are no effects."""

    def settled(self, work: Work, activity: UUID) -> tuple[str, str] | None:
        """Return None: there are no effects."""
        return None

    def branches_to_head(self, work: Work) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
        """Return nothing: there are no branches."""
        return [], {}

    def at_place(
        self, work: Work, ranges: Sequence[Range], position: Position, *, limit: int
    ) -> list[ActivityRow]:
        """Return nothing: no call is recorded."""
        return []

    # ---- as of any thread ------------------------------------------------------------------------

    def config(self, work: Work) -> dict[str, Any]:
        """The configuration that the thread began with."""
        return self._begun().config

    def cached(self, key: str) -> Any:
        """A result that another thread had."""
        return result_cache.get(key)

    def cache(self, key: str, value: Any, seconds: float) -> None:
        """Let other threads have a result for so long."""
        result_cache.put(key, value, seconds)

    def trace(self, work: Work) -> TraceContext:
        """The trace that the thread belongs to."""
        return self._behind.trace(work)

    def pause_reason(self, work: Work) -> str:
        """The reason that came with the last request for a pause."""
        return queries.pause_reason(work.thread)

    def clock(self) -> float:
        """Seconds since 1970 by the database's clock."""
        return self._behind.clock()

    def hold_off(self, work: Work, name: str, *, seconds: float, text: str) -> None:
        """Keep all threads of the workspace from calling what is named for this time."""
        self._behind.hold_off(work, name, seconds=seconds, text=text)

    def held_off(self, work: Work, name: str) -> tuple[float, str] | None:
        """(seconds left, what it said) while others were asked to wait."""
        return self._behind.held_off(work, name)

    def adopt(self, work: Work, version: UUID, fingerprint: str, *, same: bool = False) -> None:
        """Continue with the code that is here."""
        self._behind.adopt(work, version, fingerprint, same=same)

    def code(self, version: UUID) -> dict[str, Any] | None:
        """The code parts of an agent version."""
        return self._behind.code(version)

    def accepted_from(self, work: Work) -> set[UUID]:
        """Agent versions from which people accepted the way to the thread's own."""
        return self._behind.accepted_from(work)


def _why_not_held(by: EventKind, reason: str, waiting_on: Any) -> str:
    """The reason of a turn that would have waited, slept, or asked a person."""
    if reason in (FORGOTTEN, OTHER_SCHEMA):
        return reason
    sentence = waiting_on.get("sentence", "") if isinstance(waiting_on, dict) else ""
    why = (reason or sentence).strip().rstrip(".")
    if by in (EventKind.THREAD_SUSPENDED, EventKind.THREAD_SLEPT):
        what = "wait" if by is EventKind.THREAD_SUSPENDED else "sleep"
        why = f"This agent can't {what}" + (f" ({why})" if why else "")
    return f"{why}. {SEND_AGAIN}" if why else SEND_AGAIN


def _why_not_tried_again(reason: str, seconds: float) -> str:
    """The reason of a turn whose next attempt is too far away."""
    what, wait = reason.partition(";")[0], f"it can be called again in {seconds:.0f} s"
    return f"{what}; {wait}, and this turn can't wait for that. {SEND_AGAIN}"


def _why_not_asked(proposals: Sequence[Proposal], more: dict[str, Any], policy: str) -> str:
    """Name the call that nobody can be asked about, and who demands it."""
    titles = [headline(one.title, one.sentence) for one in proposals]
    titles = titles or list((more.get("waiting_on") or {}).get("titles") or ())
    what = f"“{titles[0]}”" if titles else "The next call"
    if proposals and proposals[0].blocked_by:
        return f"{what} was refused: the policy “{policy}” blocks it."
    who = f"the policy “{policy}”" if policy else "its agent"
    return f"{what} was refused: {who} asks for approval, and this agent can't wait for it."
