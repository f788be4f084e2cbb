"""What the engine knows of the floors below: one small interface, so that it can stand elsewhere.

`DatabaseLedger` is the product's: every call is one short transaction. The engine holds no
connection and no transaction while an author's code, a model or a person is awaited.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol
from uuid import UUID

import structlog
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection, transaction

from approvals import gates
from approvals import queries as approval_queries
from approvals.gates import Proposal, validity
from approvals.gates.validity import AskedBack
from approvals.policies import caps
from approvals.policies import queries as queries_policies
from approvals.policies.matches import PolicyAnswer
from approvals.policies.reservations import Estimate, Refusal
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from approvals.verification.reports import keep_report
from checkpoints import payloads, queries, store, undo
from checkpoints.chain import ChainReport
from checkpoints.encryption.channels import ChannelCipher
from checkpoints.log.traces import TraceContext
from checkpoints.postgres import reads as prepared
from checkpoints.queries import Range
from checkpoints.queries.installation import event_feed
from checkpoints.queries.states import materialized
from checkpoints.records import NewActivity, Position, Work
from checkpoints.signals import activity_progressed
from checkpoints.state.channels import Digests, Reducer
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint, NewEvent
from checkpoints.views import ActivityRow, CheckpointRow, InputRow, SignalRow

from .. import shared_page
from ..authoring.errors import HandBack
from . import result_cache
from .memories import Memories, MemoryLedger
from .rules import POLICIES_CHANGED, Rules
from .tree import Tree, TreeLedger

log = structlog.get_logger("gatepost.worker")


class Ledger(TreeLedger, MemoryLedger, Protocol):
    """Everything the engine reads and writes."""

    def load(
        self, work: Work, version: UUID, reducers: dict[str, Reducer]
    ) -> tuple[dict[str, Any], Digests, int]: ...
    def channel_cipher(self, work: Work) -> ChannelCipher | None: ...
    def recorded(self, work: Work, step: int) -> list[ActivityRow]: ...
    def reusable(self, work: Work, step: int) -> list[ActivityRow]: ...
    def cached(self, key: str) -> Any: ...
    def cache(self, key: str, value: Any, seconds: float) -> None: ...
    def approvals(self, work: Work, step: int) -> list[ApprovalRow]: ...
    def thoughts(self, work: Work, step: int) -> set[tuple[str, int]]: ...
    def commit(self, work: Work, checkpoint: NewCheckpoint, **more: Any) -> None: ...
    def record(self, work: Work, activity: NewActivity, **more: Any) -> None: ...
    def begin_effect(
        self,
        work: Work,
        activity: NewActivity,
        events: Sequence[NewEvent],
        allowed: ApprovalRow | None = None,
        policies: str | None = None,
    ) -> str: ...
    def end_effect(self, work: Work, activity: NewActivity, **more: Any) -> None: ...
    def events(self, work: Work, events: Sequence[NewEvent], **settled: Sequence[int]) -> None: ...
    def inputs(self, work: Work) -> list[InputRow]: ...
    def signals(self, work: Work, name: str) -> list[SignalRow]: ...
    def config(self, work: Work) -> dict[str, Any]: ...
    def trace(self, work: Work) -> TraceContext: ...
    def ask(self, work: Work, proposals: Sequence[Proposal], **more: Any) -> bool: ...
    def leave(self, work: Work, by: EventKind, **more: Any) -> bool: ...
    def steps_since_outside(self, work: Work, *, at_most: int) -> int: ...
    def stop_at_step_limit(self, work: Work, reason: str) -> None: ...
    def hand_back(self, work: Work, reason: str) -> None: ...
    def progress(
        self, work: Work, activity: NewActivity | None, progress: dict[str, Any], *, keep: bool
    ) -> None: ...
    def keep_cursor(
        self, work: Work, activity: NewActivity, *, cursor: bytes, **more: Any
    ) -> None: ...
    def keyframe(self, work: Work, state: dict[str, Any]) -> None: ...
    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]: ...
    def open_artifact(self, work: Work, sha256: str) -> IO[bytes]: ...
    def artifact_path(self, work: Work, sha256: str) -> Path: ...
    def activity(self, activity_id: UUID) -> ActivityRow: ...
    def compensation(self, work: Work, activity: UUID, **more: Any) -> bool: ...
    def target(self, work: Work) -> CheckpointRow: ...
    def begin_undo(self, work: Work, *, reason: str, events: Sequence[NewEvent]) -> bool: ...
    def undo_failures(self, work: Work) -> dict[str, tuple[int, str]]: ...
    def upgraded_from(self, work: Work) -> set[UUID]: ...
    def newest_sound(self, work: Work) -> CheckpointRow | None: ...
    def note_damage(self, work: Work, checkpoint: UUID, what: str) -> None: ...
    def clock(self) -> float: ...
    def failures(self, work: Work, activity: NewActivity) -> int: ...
    def waits_here(self, work: Work, seconds: float) -> bool: ...
    def hold_off(self, work: Work, name: str, *, seconds: float, text: str) -> None: ...
    def held_off(self, work: Work, name: str) -> tuple[float, str] | None: ...
    def adopt(self, work: Work, version: UUID, fingerprint: str, *, same: bool = False) -> None: ...
    def code(self, version: UUID) -> dict[str, Any] | None: ...
    def accepted_from(self, work: Work) -> set[UUID]: ...
    def lost(self, work: Work, activity: UUID) -> None: ...
    def settled(self, work: Work, activity: UUID) -> tuple[str, str] | None: ...
    def branches_to_head(
        self, work: Work
    ) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]: ...
    def at_place(
        self, work: Work, ranges: Sequence[Range], position: Position, *, limit: int
    ) -> list[ActivityRow]: ...
    def rule(
        self, work: Work, tool: str, args: Any, risk: str, *, undo: str = ""
    ) -> PolicyAnswer: ...
    def node_rule(self, work: Work, node: str) -> PolicyAnswer: ...
    def asks_before_nodes(self, work: Work) -> bool: ...
    def asks_of_call(self, work: Work, tool: str, args: Any) -> bool: ...
    def may_block(self, work: Work) -> bool: ...
    def state_hash(self, work: Work) -> str: ...
    def has_faulty_keys(self, work: Work) -> bool: ...
    def done_earlier(self, work: Work, before: ActivityRow) -> dict[str, Any]: ...
    def terms(self, risk: str) -> Terms | None: ...
    def hands_on(self, work: Work) -> tuple[str, ...]: ...
    def doubts(self, work: Work, approval: ApprovalRow) -> str: ...
    def asked_back(self, work: Work, approval: ApprovalRow) -> list[AskedBack]: ...
    def answer(
        self, work: Work, approval: ApprovalRow, activity: NewActivity, **more: Any
    ) -> bool: ...
    def spend_refusal(self, work: Work) -> str: ...
    def over_budget(self, work: Work) -> str: ...
    def pause_reason(self, work: Work) -> str: ...
    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None: ...
    def release(self, work: Work, position: Position) -> None: ...


def load_queries(thread: UUID) -> tuple[prepared.Query, ...]:
    """Queries that `load` needs first; sent in the same round trip as the lease."""
    return (
        materialized.head_state_query(thread),
        queries.next_step_asked(thread),
        approval_queries.next_step_asked(thread),
        caps.caps_query(thread),
    )


class DatabaseLedger(Rules, Tree, Memories):
    """The ledger over store, gates and queries, for one lease."""

    def __init__(self) -> None:
        self._next_step = (0, 0)
        self._recorded: list[tuple[Any, ...]] | None = None
        self._requests: list[tuple[Any, ...]] | None = None
        # Files of a storage that has no paths, as long as this lease is worked on.
        self._copies: Path | None = None

    def load(
        self, work: Work, version: UUID, reducers: dict[str, Reducer]
    ) -> tuple[dict[str, Any], Digests, int]:
        """The head's state, checked against its hash, and the schema version it was written in.

        The digests are those of `reducers`, which the agent version `version` declares; the head
        may have been written by another one. What the next step has recorded comes along.
        """
        state, recorded, requests, spent = work.brought or prepared.fetch_all(
            *load_queries(work.thread)
        )
        work.brought = []
        self._next_step = (work.branch, work.step + 1)
        self._recorded, self._requests = recorded, requests
        self.caps_came(spent)
        result, digests = materialized.checked(
            work.thread, work.head, reducers, declared_by=version, rows=state
        )
        if result.agent_version != version:
            digests = Digests.of(result.state, reducers)
        if result.refused:
            store.drop_keyframe(*result.refused)
        work.unfolded, work.unfolded_rows = result.unfolded, result.unfolded_rows
        return result.state, digests, result.schema_version

    def channel_cipher(self, work: Work) -> ChannelCipher | None:
        """The cipher of the thread's encrypted channels."""
        return store.sealing_cipher(work.thread, workspace=work.workspace)

    def recorded(self, work: Work, step: int) -> list[ActivityRow]:
        rows, self._recorded = self._recorded, None
        rows = rows if self._next_step == (work.branch, step) else None
        return queries.step_activities(work.thread, branch=work.branch, step=step, rows=rows)

    def reusable(self, work: Work, step: int) -> list[ActivityRow]:
        """Pure results of the step as it was taken before: in the base, before a rollback."""
        return queries.reusable(work.thread, step=step, agent_version=work.agent_version)

    def cached(self, key: str) -> Any:
        """A result that another thread had; None where there is none or the cache is away."""
        return result_cache.get(key)

    def cache(self, key: str, value: Any, seconds: float) -> None:
        """Let other threads have a result for so long."""
        result_cache.put(key, value, seconds)

    def approvals(self, work: Work, step: int) -> list[ApprovalRow]:
        rows, self._requests = self._requests, None
        rows = rows if self._next_step == (work.branch, step) else None
        return approval_queries.at_step(work.thread, branch=work.branch, step=step, answer=rows)

    def thoughts(self, work: Work, step: int) -> set[tuple[str, int]]:
        return queries.recorded_thoughts(work.thread, branch=work.branch, step=step)

    def commit(self, work: Work, checkpoint: NewCheckpoint, **more: Any) -> None:
        store.commit_step(work, checkpoint, **more)

    def record(self, work: Work, activity: NewActivity, **more: Any) -> None:
        store.record_activity(work, activity, **more)

    def begin_effect(
        self,
        work: Work,
        activity: NewActivity,
        events: Sequence[NewEvent],
        allowed: ApprovalRow | None = None,
        policies: str | None = None,
    ) -> str:
        """Write that it starts; else why what was decided may no longer happen.

        Rights and `policies`, those that were asked, are compared in the statement that writes:
        between a look and the write they could change. POLICIES_CHANGED where others are active.
        Raises HandBack where a breaker stops the thread.
        """
        workspace = work.workspace
        holds = None if allowed is None else validity.holds(allowed)
        same = None if policies is None else queries_policies.unchanged(workspace, policies)
        guard = prepared.both(holds, same)
        while not store.start_activity(work, activity, events=events, only_if=guard):
            if work.is_stopped:
                raise HandBack
            # Empty where the right was given back since: then it may happen after all.
            if allowed is not None and (why := validity.undecided(allowed)):
                return why
            if allowed is not None and (why := validity.doubts(allowed)):
                return why
            if policies is not None and queries_policies.mark(workspace) != policies:
                return POLICIES_CHANGED
        return ""

    def end_effect(self, work: Work, activity: NewActivity, **more: Any) -> None:
        store.finish_activity(work, activity, **more)

    def events(self, work: Work, events: Sequence[NewEvent], **settled: Sequence[int]) -> None:
        """Record events; `taken` messages and `signals` are settled with them."""
        store.record(work, events, **settled)

    def pause_reason(self, work: Work) -> str:
        """The reason that came with the last request for a pause; empty where there is none."""
        return queries.pause_reason(work.thread)

    def inputs(self, work: Work) -> list[InputRow]:
        """Messages that the thread has not taken yet, oldest first; `commit(taken=)` settles."""
        return queries.waiting_inputs(work.thread)

    def signals(self, work: Work, name: str) -> list[SignalRow]:
        """Signals of a name that no wait has taken, oldest first; `record(signals=)` settles."""
        return queries.waiting_signals(work.thread, name=name)

    def config(self, work: Work) -> dict[str, Any]:
        """The configuration of the whole thread: model, temperature, prompt texts."""
        return queries.config_of(work.thread)

    def trace(self, work: Work) -> TraceContext:
        """The trace that the thread belongs to."""
        return event_feed.trace_of_thread(work.thread)

    def ask(self, work: Work, proposals: Sequence[Proposal], **more: Any) -> bool:
        return gates.request(work, proposals, **more)

    def leave(self, work: Work, by: EventKind, **more: Any) -> bool:
        return store.leave(work, by, **more)

    def steps_since_outside(self, work: Work, *, at_most: int) -> int:
        """Number of steps since the last message, decision, timer or click, up to `at_most`."""
        return queries.steps_since_outside(work.thread, at_most=at_most)

    def stop_at_step_limit(self, work: Work, reason: str) -> None:
        """Leave the thread to a person, who may let it continue."""
        self.leave(work, EventKind.THREAD_PARKED, reason=reason, waiting_on={"kind": "steps"})

    def hand_back(self, work: Work, reason: str) -> None:
        store.hand_back(work, reason=reason)

    def progress(
        self, work: Work, activity: NewActivity | None, progress: dict[str, Any], *, keep: bool
    ) -> None:
        if keep and activity is not None:
            store.report_progress(work, activity, progress)
        activity_progressed.send_robust(
            sender=None, thread_id=work.thread, workspace=work.workspace, progress=progress
        )

    def keep_cursor(self, work: Work, activity: NewActivity, *, cursor: bytes, **more: Any) -> None:
        store.keep_cursor(work, activity, cursor=cursor, **more)

    def keyframe(self, work: Work, state: dict[str, Any]) -> None:
        try:
            store.write_keyframe(work.thread, work.number, state)
        except DatabaseError:
            # A cache: the step is committed, and the next one may try again later.
            log.warning("keyframe.skipped", thread=str(work.thread), exc_info=True)
        work.unfolded = work.unfolded_rows = 0

    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]:
        return store.put_artifact(work.workspace, name=name, media_type=media_type, chunks=chunks)

    def open_artifact(self, work: Work, sha256: str) -> IO[bytes]:
        return payloads.opened(queries.artifact(sha256, workspace=work.workspace))

    def artifact_path(self, work: Work, sha256: str) -> Path:
        row = queries.artifact(sha256, workspace=work.workspace)
        if payloads.on_disk():
            payloads.prove(row)  # a reader by its path proves nothing
            return Path(default_storage.path(row.path))
        if self._copies is None:
            self._copies = Path(tempfile.mkdtemp(prefix="gatepost-"))
            weakref.finalize(self, shutil.rmtree, self._copies, ignore_errors=True)
        return payloads.copied(row, self._copies)

    def activity(self, activity_id: UUID) -> ActivityRow:
        return queries.activity(activity_id)

    def compensation(self, work: Work, activity: UUID, **more: Any) -> bool:
        return store.record_compensation(work, activity, **more)

    def target(self, work: Work) -> CheckpointRow:
        plan = work.rollback or {}
        return queries.checkpoint(work.thread, UUID(plan["target"]))

    def begin_undo(self, work: Work, *, reason: str, events: Sequence[NewEvent]) -> bool:
        """running -> rolling_back, to end failed; False where the thread did nothing to undo."""
        fates = queries.effects_of(work.thread)
        chosen = undo.chosen(fates)
        if not chosen:
            return False
        target = queries.checkpoint_before(chosen[-1].activity)
        plan = undo.plan_back_to(target, fates, reason=reason, by=work.owner, then="failed")
        with transaction.atomic():
            gates.withdraw_open(work.thread, reason=undo.WITHDRAWN_ON_FAILURE, actor=work.owner)
            store.fail_and_undo(work, plan, events=events)
        return True

    def undo_failures(self, work: Work) -> dict[str, tuple[int, str]]:
        """{effect: (how often its undo failed, the last error)} of the undo in progress."""
        return queries.undo_failures(work.thread)

    def newest_sound(self, work: Work) -> CheckpointRow | None:
        """The newest checkpoint before the head, of this branch, whose state fits its hash."""
        return queries.newest_sound(work.thread, work.head)

    def note_damage(self, work: Work, checkpoint: UUID, what: str) -> None:
        """Store that a checkpoint was altered, from the event on that names it; raise the alarm."""
        event = queries.event_of_checkpoint(work.thread, checkpoint)
        seq = None if event is None else event.seq
        # It looked at no more than the head: any verification knows better.
        report = ChainReport(work.thread, False, 0, seq, what, checks=())
        keep_report(report, actor=work.owner)

    def upgraded_from(self, work: Work) -> set[UUID]:
        """Agent versions whose state was led to this code's schema; their gates still stand."""
        return queries.upgraded_from(work.thread)

    def clock(self) -> float:
        """Seconds since 1970 by the database's clock."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
            return float(cursor.fetchone()[0])

    def failures(self, work: Work, activity: NewActivity) -> int:
        """Count the failures at this head since a person last clicked on Retry."""
        return queries.failures(work.thread, activity.id) if activity.attempts > 1 else 0

    def waits_here(self, work: Work, seconds: float) -> bool:
        """Return False: the thread sleeps until a call is tried again, and holds no worker."""
        return False

    def hold_off(self, work: Work, name: str, *, seconds: float, text: str) -> None:
        """Keep all threads of the workspace from calling what is named for this time."""
        store.hold_off(work.workspace, name, seconds=seconds, text=text)
        shared_page.holding_off(seconds)

    def held_off(self, work: Work, name: str) -> tuple[float, str] | None:
        """(seconds left, what it said) while others were asked to wait; usually without a query."""
        return queries.held_off(work.workspace, name) if shared_page.any_held_off() else None

    def adopt(self, work: Work, version: UUID, fingerprint: str, *, same: bool = False) -> None:
        store.adopt_version(work, version, fingerprint=fingerprint, same=same)

    def code(self, version: UUID) -> dict[str, Any] | None:
        """The code parts of an agent version; None where none are recorded."""
        return queries.code_of_version(version)

    def accepted_from(self, work: Work) -> set[UUID]:
        """Agent versions from which people accepted the way to the thread's own."""
        return queries.accepted_from(work.thread)

    def lost(self, work: Work, activity: UUID) -> None:
        """started -> unknown: the worker that carried out this effect did not come to its end."""
        store.note_unknown(work, activity)

    def settled(self, work: Work, activity: UUID) -> tuple[str, str] | None:
        """(verdict, hash of the arguments it is about) that people last gave about an effect."""
        return queries.settled(work.thread, activity)

    def branches_to_head(self, work: Work) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
        """The way to the head as (thread, branch, last step), and each thread's newest branch."""
        return queries.branches_to_head(work.thread, work.head)

    def at_place(
        self, work: Work, ranges: Sequence[Range], position: Position, *, limit: int
    ) -> list[ActivityRow]:
        """List the activities at a node, index and key in these ranges, `limit` of each at most."""
        return queries.at_place(ranges, position, limit=limit)
