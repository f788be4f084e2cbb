"""The engine's ledger in memory: what the store, the gates and their readers do for a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.gates import Proposal
from approvals.gates.replies import SUPERSEDED
from approvals.queries import ApprovalRow
from checkpoints import undo
from checkpoints.log import control_columns
from checkpoints.log.pins import SAME_CODE
from checkpoints.log.traces import TraceContext, trace_of
from checkpoints.queries import Range
from checkpoints.records import Position, Work
from checkpoints.state.channels import Digests, Reducer
from checkpoints.states import EventKind, Status, target
from checkpoints.store import HandOff, NewCheckpoint, NewEvent
from checkpoints.views import ActivityRow, CheckpointRow, InputRow

from . import reads as reading
from . import requests, reuse, unknown_effects
from . import undo as undoing
from .once import released, see
from .rules import Rules
from .tables import Row, read, written
from .tree import Tree, hand_over, handed_off


class MemoryLedger(Rules, Tree):
    """The ledger of one worker in memory."""

    # ---- reading -----------------------------------------------------------------------------

    def load(
        self, work: Work, version: UUID, reducers: dict[str, Reducer]
    ) -> tuple[dict[str, Any], Digests, int]:
        self._tables.reducers[version] = reducers
        result, digests = self._tables.checked(work.thread, work.head)
        if self._tables.checkpoint(work.thread, work.head).new.agent_version != version:
            digests = Digests.of(result.state, reducers)
        return result.state, digests, result.schema_version

    def channel_cipher(self, work: Work) -> None:
        """Encrypted channels stay plain: nothing of a play outlives the process."""

    def recorded(self, work: Work, step: int) -> list[ActivityRow]:
        return [
            a
            for a in reading.activities(self._tables, work.thread)
            if (a.branch, a.step) == (work.branch, step)
        ]

    def reusable(self, work: Work, step: int) -> list[ActivityRow]:
        version = work.agent_version
        return reuse.reusable(self._tables, work.thread, step=step, agent_version=version)

    def cached(self, key: str) -> Any:
        until, text = self._tables.cached.get(key, (self._tables.now(), None))
        return read(text) if until > self._tables.now() else None

    def cache(self, key: str, value: Any, seconds: float) -> None:
        self._tables.cached[key] = (self._tables.later(seconds), written(value))

    def approvals(self, work: Work, step: int) -> list[ApprovalRow]:
        return [
            a
            for a in reading.approvals(self._tables, work.thread)
            if (a.branch, a.step) == (work.branch, step)
        ]

    def thoughts(self, work: Work, step: int) -> set[tuple[str, int]]:
        """(node, ordinal) of the thoughts recorded at the step since the last checkpoint."""
        results: set[tuple[str, int]] = set()
        for event in reading.events(self._tables, work.thread):
            data = event.data
            if event.kind == EventKind.CHECKPOINT_COMMITTED:
                results.clear()
            elif event.kind == EventKind.THOUGHT_RECORDED and data["step"] == step:
                results.add((data["node"], data["ordinal"]))
        return results

    def inputs(self, work: Work) -> list[InputRow]:
        return reading.inputs(self._tables, work.thread)

    def activity(self, activity_id: UUID) -> ActivityRow:
        return reading.activity(self._tables, activity_id)

    def target(self, work: Work) -> CheckpointRow:
        return reading.checkpoint(self._tables, work.thread, UUID((work.rollback or {})["target"]))

    def undo_failures(self, work: Work) -> dict[str, tuple[int, str]]:
        return undoing.undo_failures(self._tables, work.thread)

    def begin_undo(self, work: Work, *, reason: str, events: Sequence[NewEvent]) -> bool:
        fates = undoing.effects_of(self._tables, work.thread)
        chosen = undo.chosen(fates)
        if not chosen:
            return False
        target = undoing.checkpoint_before(self._tables, chosen[-1].activity)
        plan = undo.plan_back_to(target, fates, reason=reason, by=work.owner, then="failed")
        requests.withdraw_open(
            self._tables, work.thread, reason=undo.WITHDRAWN_ON_FAILURE, actor=work.owner
        )
        self._write(
            work,
            sets=undoing.carried(plan),
            status=Status.ROLLING_BACK,
            reason=reason,
            events=[*events, NewEvent(EventKind.ROLLBACK_STARTED, plan, work.owner, 2)],
        )
        return True

    def newest_sound(self, work: Work) -> CheckpointRow | None:
        return reading.newest_sound(self._tables, work.thread, work.head)

    def note_damage(self, work: Work, checkpoint: UUID, what: str) -> None:
        """Nobody reads the record of a harness."""

    def upgraded_from(self, work: Work) -> set[UUID]:
        return reading.upgraded_from(self._tables, work.thread)

    def clock(self) -> float:
        return self._tables.now().timestamp()

    def config(self, work: Work) -> dict[str, Any]:
        return reading.config(self._tables, work.thread)

    def trace(self, work: Work) -> TraceContext:
        return trace_of(self._tables.row(work.root or work.thread).chain_id, None)

    def steps_since_outside(self, work: Work, *, at_most: int) -> int:
        return reading.steps_since_outside(self._tables, work.thread, at_most=at_most)

    def stop_at_step_limit(self, work: Work, reason: str) -> None:
        """Fail the thread: nobody looks after a play, and a test of it has to end red."""
        self.leave(work, EventKind.THREAD_FAILED, reason=reason)

    def failures(self, work: Work, activity: UUID) -> int:
        return reading.failures(self._tables, work.thread, activity)

    def held_off(self, work: Work, name: str) -> tuple[float, str] | None:
        until, message = self._tables.held_off.get((work.workspace, name), (self._tables.now(), ""))
        left = (until - self._tables.now()).total_seconds()
        return (left, message) if left > 0 else None

    def hold_off(self, work: Work, name: str, *, seconds: float, text: str) -> None:
        key = (work.workspace, name)
        former = self._tables.held_off.get(key)
        new = (self._tables.later(seconds), text)
        self._tables.held_off[key] = new if former is None else max(former, new)

    # ---- steps -------------------------------------------------------------------------------

    def commit(
        self,
        work: Work,
        checkpoint: NewCheckpoint,
        *,
        before: Sequence[NewEvent] = (),
        events: Sequence[NewEvent] = (),
        leave_by: EventKind | None = None,
        reason: str = "",
        tokens: int = 0,
        cost: str = "0",
        taken: Sequence[int] = (),
        left_by: str = "",
    ) -> None:
        sets: dict[str, Any] = {"crash_count": 0}
        left: list[NewEvent] = []
        status: Status | None = None
        if leave_by is not None:
            status = target(leave_by, work.status)
            sets |= released(leave_by)
            message = control_columns.leaving(leave_by, reason=reason)
            left.append(NewEvent(leave_by, message, left_by or work.owner))
        if work.status is Status.ROLLING_BACK:
            sets["rollback"] = None
        elif checkpoint.step > work.step:
            sets["n_steps"] = self._tables.row(work.thread).n_steps + 1
        row = self._tables.move(
            work.thread,
            guard=lambda r: r.lease_token == work.token and r.head == work.head,
            sets=sets,
            status=status,
            reason=reason,
            before=before,
            events=[*events, *left],
            checkpoint=checkpoint,
            also=lambda _: self._settle(work.thread, taken),
        )
        self._seen(work, row)
        work.head, work.number, work.step = checkpoint.id, checkpoint.number, checkpoint.step
        work.branch, work.branch_start = checkpoint.branch, checkpoint.branch_start
        work.next_nodes = tuple(checkpoint.next_nodes)
        work.crash_count = 0

    def hand_off(
        self,
        work: Work,
        checkpoint: NewCheckpoint,
        hand_off: HandOff,
        *,
        events: Sequence[NewEvent] = (),
        **more: Any,
    ) -> None:
        giver = self._tables.row(work.thread)
        end = (giver.last_seq, giver.last_hash)
        try:
            self.commit(
                work,
                checkpoint,
                events=[*events, handed_off(work, hand_off, checkpoint)],
                leave_by=EventKind.THREAD_SUCCEEDED,
                **more,
            )
        finally:  # a worker that is lost right after it has begun the successor as well
            if giver.head == checkpoint.id:
                hand_over(self._tables, giver, hand_off, checkpoint, end=end)

    def leave(
        self,
        work: Work,
        by: EventKind,
        *,
        reason: str = "",
        data: dict[str, Any] | None = None,
        events: Sequence[NewEvent] = (),
        waiting_on: Any = None,
        wake_at_seconds: float | None = None,
        unless_woken: bool = False,
        also: Callable[[datetime], None] | None = None,
    ) -> bool:
        sets = released(by) | {"waiting_on": None if waiting_on is None else written(waiting_on)}
        if wake_at_seconds is not None:
            sets["wake_at"] = self._tables.later(wake_at_seconds)
        if work.wish == "accept":
            sets["wish"] = ""  # for this time: what is installed while it waits asks again
        body = control_columns.leaving(by, reason=reason, data=data, waiting_on=waiting_on)

        def allowed(row: Row) -> bool:
            news = unless_woken and row.wake_seq != work.wake_seq
            return row.lease_token == work.token and not news

        row = self._tables.move(
            work.thread,
            guard=allowed,
            sets=sets,
            status=target(by, work.status),
            reason=reason,
            events=[*events, NewEvent(by, body, work.owner)],
            also=also,
        )
        if row is None and unless_woken:
            now = self._tables.row(work.thread)
            if now.lease_token == work.token:
                see(work, now)
                return False
        self._seen(work, row)
        return True

    def hand_back(self, work: Work, reason: str) -> None:
        if work.status is Status.ROLLING_BACK:
            self._write(work, sets=released(EventKind.THREAD_HANDED_BACK))
        else:
            self.leave(work, EventKind.THREAD_HANDED_BACK, reason=reason)

    def adopt(self, work: Work, version: UUID, fingerprint: str, *, same: bool = False) -> None:
        data = {"from": str(work.agent_version), "to": str(version), "fingerprint": fingerprint}
        if same:
            data["by"] = SAME_CODE
        wish = self._tables.row(work.thread).wish
        self._write(
            work,
            events=[NewEvent(EventKind.CODE_CHANGED, data, work.owner)],
            sets={"agent_version": version, "wish": "" if wish == "accept" else wish},
        )
        work.agent_version = version

    def code(self, version: UUID) -> dict[str, Any] | None:
        """Nothing: what is installed in memory has no record."""
        return None

    def accepted_from(self, work: Work) -> set[UUID]:
        return reading.accepted_from(self._tables, work.thread)

    def events(self, work: Work, events: Sequence[NewEvent], *, taken: Sequence[int] = ()) -> None:
        self._write(work, events=events, also=lambda _: self._settle(work.thread, taken))

    def ask(
        self,
        work: Work,
        proposals: Sequence[Proposal],
        *,
        events: Sequence[NewEvent] = (),
        waiting_on: Any = None,
    ) -> bool:
        if settled := [p for p in proposals if not p.asks]:
            self._decide_by_policy(work, settled, events)
            events, proposals = (), [p for p in proposals if p.asks]
            if not proposals:
                return False
        rows = [requests.opened(self._tables, work, p) for p in proposals]

        def enter(at: datetime) -> None:
            for row, _ in rows:
                self._tables.approvals[row.id] = replace(row, requested_at=at)

        waits = self.leave(
            work,
            EventKind.THREAD_SUSPENDED,
            events=[*events, *(event for _, event in rows)],
            waiting_on=waiting_on,
            unless_woken=True,
            also=enter,
        )
        for p in proposals if waits else ():
            if p.revision and (former := self._withdraw_former(work, p, SUPERSEDED)):
                self._tables.move(work.thread, events=former)
        return waits

    def _decide_by_policy(
        self, work: Work, proposals: Sequence[Proposal], events: Sequence[NewEvent]
    ) -> None:
        """Record actions that a policy allows or blocks: asked and decided, and nobody waits."""
        for proposal in proposals:
            row, payload = requests.decided_by_policy(self._tables, work, proposal)

            def enter(_: datetime, row: ApprovalRow = row) -> None:
                self._tables.approvals[row.id] = row

            if proposal.revision:
                by = proposal.verdict.supersedes
                payload = [payload[0], *self._withdraw_former(work, proposal, by), *payload[1:]]
            self._write(work, events=[*events, *payload], also=enter)
            events = ()

    # ---- effects that need a person ----------------------------------------------------------

    def lost(self, work: Work, activity: UUID) -> None:
        self._seen(
            work,
            unknown_effects.lost(
                self._tables,
                work.thread,
                activity,
                owner=work.owner,
                guard=lambda r: r.lease_token == work.token,
            ),
        )

    def settled(self, work: Work, activity: UUID) -> tuple[str, str] | None:
        return unknown_effects.settled(self._tables, work.thread, activity)

    def branches_to_head(self, work: Work) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
        return unknown_effects.branches_to_head(self._tables, work.thread)

    def at_place(
        self, work: Work, ranges: Sequence[Range], position: Position, *, limit: int
    ) -> list[ActivityRow]:
        return unknown_effects.at_place(self._tables, ranges, position, limit=limit)
