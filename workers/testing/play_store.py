"""The workspace of one Harness on the server of plays: its threads, its clock, and what people do.

Everything is the store's own: the same statements, refusals and logs as in an installation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from approvals import gates
from approvals import queries as approval_queries
from approvals.gates import Reviewer
from approvals.gates.deadlines import expire_due_in
from approvals.gates.undo_window import settle_due_in
from approvals.policies.matches import Facts, Rule
from approvals.queries import ApprovalRow
from checkpoints import leases, queries, store, undo
from checkpoints.chain import verify_thread
from checkpoints.errors import CorruptHistory, NotAllowedNow, NotFound
from checkpoints.records import Position, Work
from checkpoints.states import EventKind
from checkpoints.store.starts import insert_thread
from checkpoints.store.statement.moves import NewCheckpoint, NewEvent
from checkpoints.verdicts import Verdict
from checkpoints.views import ActivityRow, AgentRow, CheckpointRow, EffectFate, EventRow, ThreadRow

from ..authoring.graph import Graph
from ..slot import reached
from .server import DATABASE, server

AUTHOR: Final = "user:author"
OWNER: Final = "worker:harness"
SWEEP: Final = "sweep"
LEASE_SECONDS: Final = 15.0
ALL: Final = 1_000_000


class PlayStore:
    """Threads of one Harness. Each public method may be called from any thread and beside a loop.

    `policy` answers for the policies of an installation, `cap` is what a thread may cost.
    """

    def __init__(
        self, *, policy: Callable[[Facts], Rule | None] | None = None, cap: str | None = None
    ) -> None:
        self.workspace = uuid7()
        self.policy = policy
        self.cap = cap
        self.files: dict[str, tuple[str, str, bytes]] = {}
        self.cached: dict[str, tuple[float, Any]] = {}
        self.reserved: dict[tuple[UUID, Position], Decimal] = {}
        self.progress: list[Any] = []
        self.graphs: dict[str, tuple[Graph, UUID]] = {}
        self.accepted: dict[UUID, frozenset[UUID]] = {}
        self.joined: dict[tuple[UUID, UUID], dict[str, Any]] = {}
        self._server = server()
        self._database = DATABASE
        self._ahead = 0.0
        self._versions: list[dict[str, Any]] = []
        self._has_threads = False
        self.has_cancelled = False
        self._workspaces = [self.workspace]
        self.call(store.create_play_workspace, self.workspace)

    def call[T](self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        """Call what reads or writes the default connection."""
        return self._server.call(self._database, self._ahead, partial(function, *args, **more))

    def announce(self, graph: Graph) -> UUID:
        """Enter a graph as an agent version of its own; its id."""
        content = {
            "agent": graph.name,
            "version": graph.version,
            "fingerprint": f"play {uuid4()}",
            "label": graph.label or graph.name,
            "description": "",
            "schema_version": graph.schema_version,
            "schema": {},
            "channels": _plain_channels(graph),
            "graph": graph.describe_graph() | {"payloads": "database"},
            "tools": {},
            "queue": graph.queue,
        }
        self._versions.append(content)
        version = self.call(store.announce_version, **content)
        self.graphs[graph.name] = graph, version
        return version

    def agent(self, name: str) -> AgentRow:
        """The agent that children of this name begin with; raises NotFound."""
        known = self.graphs.get(name)
        if known is None:
            raise NotFound(
                f"No agent named {name!r} plays along: Harness(graph, agents=[...]) takes others."
            )
        graph, version = known
        return AgentRow(
            id=version,
            agent=name,
            version=graph.version,
            fingerprint="",
            label=name,
            description="",
            schema_version=graph.schema_version,
            schema={},
            channels=_plain_channels(graph),
            graph=graph.describe_graph(),
            tools={},
            queue=graph.queue,
            created_at=self.now(),
        )

    # ---- the clock ---------------------------------------------------------------------------

    def now(self) -> datetime:
        """The time of the play."""

        def read() -> datetime:
            with connection.cursor() as cursor:
                cursor.execute("SELECT clock_timestamp()")
                result: datetime = cursor.fetchone()[0]
                return result

        return self.call(read)

    def pass_time(self, seconds: float) -> None:
        """Let the clock run."""
        self._ahead += max(seconds, 0.0)

    def pass_until(self, until: datetime) -> None:
        """Let the clock run to just after this time."""
        self.pass_time((until - self.now()).total_seconds() + 0.001)

    def carry_out_due(self) -> None:
        """Carry out what is due, as the sweep does: requests expire, sleepers wake."""
        self.call(expire_due_in, self._workspaces)
        self.call(settle_due_in, self._workspaces)
        self.call(store.wake_sleepers_in, self._workspaces, owner=SWEEP)

    def hold_ends(self, thread: UUID) -> bool:
        """Let the clock run to where a decision of this thread counts; False: none is held."""
        held = [a for a in self.approvals(thread) if a.status == "held" and a.effective_at]
        for a in held:
            if a.effective_at is not None:
                self.pass_until(a.effective_at)
        if held:
            self.carry_out_due()
        return bool(held)

    # ---- reading -----------------------------------------------------------------------------

    def row(self, thread: UUID) -> ThreadRow:
        """The thread as it stands."""

        def read() -> ThreadRow:
            for workspace in self._workspaces[:-1]:  # only tapes bring more than one
                with suppress(NotFound):
                    return queries.thread(thread, workspace=workspace)
            return queries.thread(thread, workspace=self._workspaces[-1])

        return self.call(read)

    def state_at(self, thread: UUID, checkpoint: UUID) -> dict[str, Any]:
        """The state at a checkpoint of this thread."""
        return self.call(queries.state_at, thread, checkpoint)

    def checkpoint(self, thread: UUID, number: int) -> CheckpointRow:
        """The checkpoint of this number; raises NotFound."""
        return self.call(queries.checkpoint_by_number, thread, number)

    def checkpoints(self, thread: UUID) -> list[CheckpointRow]:
        """A thread's own checkpoints with their deltas, oldest first."""
        listed = list(self.call(queries.checkpoints, thread, limit=ALL).rows)[::-1]
        whole = self.call(queries.checkpoints_from, thread)
        return [replace(a, delta=b.delta) for a, b in zip(listed, whole, strict=True)]

    def events(self, thread: UUID) -> list[EventRow]:
        """A thread's log, oldest first."""
        return self.call(queries.events_after, thread, 0, limit=ALL)

    def activities(self, thread: UUID) -> list[ActivityRow]:
        """A thread's activities, oldest first."""
        rows = self.call(queries.activities, thread, limit=ALL)
        return sorted(rows, key=lambda a: (a.started_at, a.revision))

    def approvals(self, thread: UUID, *, open_only: bool = False) -> list[ApprovalRow]:
        """A thread's requests, oldest first."""
        return self.call(approval_queries.for_thread, thread, open_only=open_only)[::-1]

    def effects_after(self, thread: UUID, number: int) -> list[EffectFate]:
        """The effects between a checkpoint and the head, last first."""
        return self.call(queries.effects_after, thread, self.checkpoint(thread, number).id)

    def verify(self, thread: UUID) -> int:
        """The number of events of a log that fits its hashes; raises CorruptHistory."""
        report = self.call(verify_thread, thread)
        if not report.intact:
            raise CorruptHistory(report.what)
        return report.n_events

    def file(self, sha: str) -> bytes:
        """The bytes of a file; raises NotFound."""
        if sha not in self.files:
            raise NotFound("There is no such file.")
        _, _, raw = self.files[sha]
        return raw

    def successor(self, thread: UUID) -> UUID | None:
        """The thread that this one handed over to."""
        kinds = [str(EventKind.THREAD_HANDED_OFF)]
        events = self.call(queries.events_after, thread, 0, kinds=kinds)
        return UUID(events[-1].data["thread"]) if events else None

    def children(self, thread: UUID) -> list[UUID]:
        """The threads that this one started, or who took over from them, in order."""
        kinds = [str(EventKind.CHILD_STARTED)]
        started = self.call(queries.events_after, thread, 0, kinds=kinds, limit=ALL)
        named = [UUID(child["thread"]) for e in started for child in e.data["children"]]
        results = []
        for child in named:
            heir: UUID | None = child
            while heir is not None:
                child, heir = heir, self.successor(heir)
            results.append(child)
        return results

    # ---- what a worker and the sweep do ------------------------------------------------------

    def acquire(self, thread: UUID) -> Work | None:
        """Take a thread that has work to do; None where there is none."""
        return self.call(leases.acquire, thread, owner=OWNER)

    def take_over(self, thread: UUID) -> Work | None:
        """Take a thread whose worker was lost, when its lease is over."""
        self.pass_time(LEASE_SECONDS + 1)
        work = self.call(leases.take_over, thread, owner=f"{OWNER}-2")
        if work is None:
            self.call(store.park_crash_loops, owner=SWEEP)
        return work

    def deliver(self, parent: UUID) -> bool:
        """Bring a parent the news of its children; whether it continues."""
        return self.call(store.deliver, parent, actor=OWNER)

    def cancel_children(self) -> None:
        """Carry out what nodes asked for with `ctx.cancel`, one generation after the other."""
        while self.has_cancelled and self.call(reached.carry_out):
            pass
        self.has_cancelled = False

    def waits_until(self, parent: UUID) -> datetime | None:
        """The time until which a parent waits for its children."""
        return self.call(store.waits_until, parent)

    def fail(self, work: Work, events: Sequence[NewEvent]) -> None:
        """Record what was lost to another worker."""
        for event in events:
            self.call(store.add_event, work.thread, event)

    # ---- what people do ----------------------------------------------------------------------

    def start(self, version: UUID, **more: Any) -> UUID:
        """Begin a thread."""
        self._has_threads = True
        return self.call(store.start, version, workspace=self.workspace, actor=AUTHOR, **more)

    def begin_taped(
        self, thread: UUID, checkpoint: NewCheckpoint, kind: EventKind, **more: Any
    ) -> None:
        """Begin a thread under a recorded id; NotAllowedNow for one that was played here."""
        if not self._has_threads:  # another Harness may have played it
            self._database = self._server.create_database()
            self._workspaces = []
            for content in self._versions:
                self.call(store.announce_version, **content)
        self._has_threads = True
        workspace = more["row"]["workspace_id"]  # what people decided names it
        if workspace not in self._workspaces:
            self._workspaces.append(workspace)
            self.call(store.create_play_workspace, workspace)
        self.workspace = self._workspaces[0]
        more |= {"thread": thread, "checkpoint": checkpoint, "kind": kind}
        if not self.call(insert_thread, **more):
            raise NotAllowedNow("This harness has played this thread already: take another one.")

    def decide(self, row: ApprovalRow, *, by: str, verdict: str, **more: Any) -> ApprovalRow:
        """Decide a request, as a reviewer who saw exactly this proposal."""
        return self.call(
            gates.decide,
            row.id,
            workspace=row.workspace,
            reviewer=Reviewer(f"user:{by}", by, by),
            verdict=verdict,
            proposal_hash=row.standing_hash,
            **more,
        )

    def pause(self, thread: UUID, *, before: str = "") -> None:
        """Pause a thread, or let it stop before a node."""
        self.call(store.pause, thread, actor=AUTHOR, before_node=before)

    def resume(self, thread: UUID) -> None:
        """paused -> queued."""
        self.call(store.resume, thread, actor=AUTHOR)

    def retry(self, thread: UUID) -> None:
        """failed or attention -> queued."""
        self.call(store.retry, thread, actor=AUTHOR)

    def skip(self, thread: UUID, *, node: str, reason: str) -> None:
        """Go past a node of a stopped thread."""
        self.call(store.skip, thread, node=node, reason=reason, actor=AUTHOR)

    def settle(self, thread: UUID, activity: UUID, verdict: str, **more: Any) -> None:
        """Answer what is asked about an effect."""
        self.call(
            store.settle, thread, activity=activity, verdict=Verdict(verdict), actor=AUTHOR, **more
        )

    def send(self, thread: UUID, message: Any) -> None:
        """Send new input."""
        self.call(store.send_input, thread, message=message, actor=AUTHOR)

    def signal(self, thread: UUID, name: str, value: Any) -> None:
        """Send a signal."""
        self.call(store.send_signal, thread, name=name, value=value, actor=AUTHOR)

    def cancel(self, thread: UUID, reason: str, *, undoing: bool) -> bool:
        """End a thread; whether what it did has to be undone before."""

        def carry_out() -> bool:
            with transaction.atomic():
                gates.withdraw_open(thread, reason="The thread was cancelled.", actor=AUTHOR)
                fates = queries.effects_of(thread) if undoing else []
                chosen = undo.chosen(fates)
                if not chosen:
                    store.cancel(thread, actor=AUTHOR, reason=reason)
                    return False
                plan = undo.plan_back_to(
                    queries.checkpoint_before(chosen[-1].activity),
                    fates,
                    reason=reason,
                    by=AUTHOR,
                    then=undo.CANCELLED,
                )
                head, _, _ = queries.place_of(thread)
                store.cancel_and_undo(thread, plan=plan, head=head)
                return True

        return self.call(carry_out)

    def edit(self, thread: UUID, changes: Mapping[str, Any], reason: str) -> None:
        """Write new values over the head."""

        def carry_out() -> None:
            with transaction.atomic():
                message = f"The state was edited: {reason}"
                gates.withdraw_open(thread, reason=message, actor=AUTHOR)
                store.edit(thread, changes=changes, reason=reason, actor=AUTHOR)

        self.call(carry_out)

    def fork(self, thread: UUID, point: UUID, **more: Any) -> UUID:
        """Begin a thread from a checkpoint of another."""
        return self.call(store.fork, thread, checkpoint=point, actor=AUTHOR, **more)

    def fork_instead(self, call: ActivityRow, point: UUID, **more: Any) -> UUID:
        """Begin a fork in which a recorded call has another output."""
        return self.call(store.fork_with_output, call, checkpoint=point, actor=AUTHOR, **more)

    def roll_back(self, thread: UUID, to: int, reason: str) -> None:
        """Let a worker undo what was done after a checkpoint."""

        def carry_out() -> None:
            with transaction.atomic():
                message = f"The thread was rolled back: {reason}"
                gates.withdraw_open(thread, reason=message, actor=AUTHOR)
                target = queries.checkpoint_by_number(thread, to)
                fates = queries.effects_after(thread, target.id)
                head, _, _ = queries.place_of(thread)
                store.roll_back(
                    thread,
                    checkpoint=target.id,
                    undo=[f.activity.id for f in fates if f.fate == "undoable"],
                    reason=reason,
                    actor=AUTHOR,
                    head=head,
                )

        self.call(carry_out)


def _plain_channels(graph: Graph) -> dict[str, Any]:
    """The channels of a graph, none of them encrypted: nothing of a play outlives it."""
    described = graph.describe_channels().items()
    return {name: {k: v for k, v in spec.items() if k != "encrypted"} for name, spec in described}
