"""The same bench on the ledger in memory: what passes on one has to pass on the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from approvals.gates import Reviewer
from approvals.queries import ApprovalRow
from checkpoints.payloads.base import LIMITS
from checkpoints.records import Work
from checkpoints.states import Status
from checkpoints.views import ActivityRow, CheckpointRow, EventRow, InputRow
from workers.authoring.graph import Graph, Tool
from workers.authoring.language_models import missing
from workers.code.registry import fingerprint_of
from workers.engine.engine import Engine
from workers.engine.rollback import roll_back
from workers.step.step import Agent
from workers.testing.memory import people, requests, starts
from workers.testing.memory import reads as reading
from workers.testing.memory import undo as undoing
from workers.testing.memory.ledger import MemoryLedger
from workers.testing.memory.tables import MemoryTables, Row


@dataclass
class MemoryBench:
    """Starts, advances and decides threads of one agent in one tables."""

    agent: Agent
    tables: MemoryTables = field(default_factory=MemoryTables)
    stopping: Callable[[], bool] = lambda: False
    wrote: Callable[[], None] = lambda: None

    announced: dict[str, UUID] = field(default_factory=dict)

    def install(self, graph: Graph, tools: dict[str, Tool], *parts: Any) -> None:
        """Put other code in place; the same code is the same version."""
        graph.check()
        fingerprint = fingerprint_of(graph, parts)
        version = self.announced.setdefault(fingerprint, uuid7())
        self.agent = Agent(graph, tools, version, fingerprint, graph.model or missing)
        self.tables.limits[version] = LIMITS[graph.payloads]

    def start(self, *, config: dict[str, Any] | None = None, **input: Any) -> UUID:
        return starts.start(
            self.tables,
            self.agent.graph,
            agent_version=self.agent.version_id,
            input=input,
            actor="user:1",
            title="A test",
            config=config,
        )

    def advance(self, thread: UUID, *, slice_seconds: float = 30) -> Row:
        work = people.acquire(self.tables, thread, owner="worker:test") or people.take_over(
            self.tables, thread, owner="worker:test"
        )
        assert work is not None, self.row(thread).status
        parts: dict[str, Any] = {
            "agent": self.agent,
            "ledger": MemoryLedger(self.tables, self.wrote),
            "heartbeat": SimpleNamespace(check=lambda: None),
            "stopping": self.stopping,
        }
        if work.status is Status.ROLLING_BACK:
            roll_back(work, **parts)
        else:
            Engine(**parts, slice_seconds=slice_seconds).advance(work)
        return self.row(thread)

    def row(self, thread: UUID) -> Row:
        return self.tables.row(thread)

    def state(self, thread: UUID) -> dict[str, Any]:
        return self.state_at(thread, self.row(thread).head)

    def state_at(self, thread: UUID, checkpoint: UUID) -> dict[str, Any]:
        return self.tables.materialise(thread, checkpoint).state

    def checkpoints(self, thread: UUID) -> list[CheckpointRow]:
        return reading.checkpoints(self.tables, thread)[::-1]

    def checkpoint(self, thread: UUID, number: int) -> CheckpointRow:
        return reading.by_number(self.tables, thread, number)

    def events(self, thread: UUID) -> list[EventRow]:
        return reading.events(self.tables, thread)

    def kinds(self, thread: UUID) -> list[str]:
        return [str(kind) for kind in reading.kinds(self.tables, thread)]

    def activities(self, thread: UUID) -> list[ActivityRow]:
        return reading.activities(self.tables, thread)

    def approvals(self, thread: UUID) -> list[ApprovalRow]:
        return reading.approvals(self.tables, thread)

    def open(self, thread: UUID) -> ApprovalRow:
        (approval,) = reading.approvals(self.tables, thread, open_only=True)
        return approval

    def waiting_inputs(self, thread: UUID) -> list[InputRow]:
        return reading.inputs(self.tables, thread)

    def config(self, thread: UUID) -> dict[str, Any]:
        return reading.config(self.tables, thread)

    def intact(self, thread: UUID) -> bool:
        return reading.verify(self.tables, thread) > 0

    # ---- people ----

    def decide(self, thread: UUID, verdict: str, comment: str = "", args: Any = None) -> None:
        row = self.open(thread)
        requests.decide(
            self.tables,
            row.id,
            reviewer=Reviewer("user:2", "manager"),
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
            args=args,
        )

    def roll_back(self, thread: UUID, number: int, reason: str = "wrong") -> Row:
        self.begin_roll_back(thread, number, reason)
        return self.advance(thread)

    def begin_roll_back(self, thread: UUID, number: int, reason: str = "wrong") -> None:
        target = self.checkpoint(thread, number)
        effects = reading.effects_after(self.tables, thread, target.id)
        people.roll_back(
            self.tables,
            thread,
            checkpoint=target.id,
            undo=[e.activity.id for e in effects if e.fate == "undoable"],
            reason=reason,
            actor="user:1",
        )

    def lease(self, thread: UUID) -> Work:
        work = people.acquire(self.tables, thread, owner="worker:elsewhere")
        assert work is not None
        return work

    def ledger(self) -> MemoryLedger:
        return MemoryLedger(self.tables)

    def fork(self, base: UUID, number: int, changes: dict[str, Any], **more: Any) -> UUID:
        point = self.checkpoint(base, number).id
        return starts.fork(
            self.tables, base, checkpoint=point, changes=changes, actor="user:2", **more
        )

    def edit(self, thread: UUID, changes: dict[str, Any], reason: str) -> None:
        people.edit(self.tables, thread, changes=changes, reason=reason, actor="user:1")

    def pause(self, thread: UUID, before_node: str = "") -> str:
        return people.pause(self.tables, thread, actor="user:1", before_node=before_node)

    def resume(self, thread: UUID) -> None:
        people.resume(self.tables, thread, actor="user:1")

    def retry(self, thread: UUID) -> None:
        people.retry(self.tables, thread, actor="user:1")

    def skip(self, thread: UUID, node: str, reason: str = "not needed") -> None:
        people.skip(self.tables, thread, node=node, reason=reason, actor="user:1")

    def cancel(self, thread: UUID, *, undo: bool = False, unknown: bool = False) -> None:
        if not undo or not undoing.cancel_and_undo(
            self.tables, thread, actor="user:1", reason="enough", unknown=unknown
        ):
            people.cancel(self.tables, thread, actor="user:1")

    def send(self, thread: UUID, message: Any) -> int:
        return people.send(self.tables, thread, message=message, actor="user:1")

    # ---- the clock ----

    def pass_time(self, seconds: float) -> None:
        self.tables.pass_time(seconds)

    def wake_sleepers(self) -> int:
        return people.wake_sleepers(self.tables)

    def expire_due(self) -> int:
        return requests.expire_due(self.tables)


def memory_bench_of(module: Any) -> MemoryBench:
    """A bench in memory for the agent that a module holds."""
    module.graph.check()
    tools = getattr(module, "TOOLS", {})
    fingerprint = fingerprint_of(module.graph, [module])
    model = module.graph.model or missing
    return MemoryBench(Agent(module.graph, tools, uuid7(), fingerprint, model))
