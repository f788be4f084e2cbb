"""Benches for the engine: threads are advanced in this very process, on the test's database."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from approvals import gates
from approvals import queries as approval_queries
from approvals.queries import ApprovalRow
from checkpoints import leases, queries, store
from checkpoints import undo as plans
from checkpoints.chain import verify_thread
from checkpoints.records import Work
from checkpoints.states import Status
from checkpoints.views import ActivityRow, CheckpointRow, EventRow, InputRow, ThreadRow
from tests.support.reviewers import reviewer_in
from tests.unit.workers.graphs.effects import unsure
from workers.authoring.graph import Graph, Tool
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.engine.rollback import roll_back
from workers.step.hot_ledger import HotLedger, ledger_for
from workers.step.ledger import DatabaseLedger, Ledger
from workers.step.step import Agent

from .graphs import samples


@dataclass
class Bench:
    """Starts, advances and decides threads of one agent."""

    agent: Agent
    workspace: UUID
    stopping: Callable[[], bool] = lambda: False

    def install(self, graph: Graph, tools: dict[str, Tool], *parts: Any) -> None:
        """Put other code in place, as a restart with a new release does."""
        self.agent = announce(graph, tools, parts)

    def start(self, *, config: dict[str, Any] | None = None, **input: Any) -> UUID:
        return store.start(
            self.agent.version_id,
            input=input,
            workspace=self.workspace,
            actor="user:1",
            title="A test",
            config=config,
        )

    def advance(self, thread: UUID, *, slice_seconds: float = 30) -> ThreadRow:
        """Lease the thread and work until it stops; its row afterwards."""
        work = leases.acquire(thread, owner="worker:test") or leases.take_over(
            thread, owner="worker:test"
        )
        assert work is not None, self.row(thread).status
        ledger, work = ledger_for(self.agent, work)
        parts: dict[str, Any] = {
            "agent": self.agent,
            "ledger": ledger,
            "heartbeat": SimpleNamespace(check=lambda: None),
            "stopping": self.stopping,
        }
        try:
            if work.status is Status.ROLLING_BACK:
                roll_back(work, **parts)
            else:
                Engine(**parts, slice_seconds=slice_seconds).advance(work)
        finally:
            if isinstance(ledger, HotLedger):
                ledger.close()
        return self.row(thread)

    def row(self, thread: UUID) -> ThreadRow:
        return queries.thread(thread, workspace=self.workspace)

    def state(self, thread: UUID) -> dict[str, Any]:
        return queries.state_at(thread, self.row(thread).head)

    def open(self, thread: UUID) -> ApprovalRow:
        (result,) = approval_queries.for_thread(thread, open_only=True)
        return result

    def decide(self, thread: UUID, verdict: str, comment: str = "", args: Any = None) -> None:
        row = self.open(thread)
        gates.decide(
            row.id,
            workspace=self.workspace,
            reviewer=reviewer_in(self.workspace),
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
            args=args,
        )

    def roll_back(self, thread: UUID, number: int, reason: str = "wrong") -> ThreadRow:
        self.begin_roll_back(thread, number, reason)
        return self.advance(thread)

    @transaction.atomic
    def begin_roll_back(self, thread: UUID, number: int, reason: str = "wrong") -> None:
        """Let it be planned; no worker has taken it yet."""
        row = self.row(thread)
        target = queries.checkpoint_by_number(thread, number)
        effects = queries.effects_after(thread, target.id)
        gates.withdraw_open(thread, reason=f"The thread was rolled back: {reason}", actor="user:1")
        store.roll_back(
            thread,
            checkpoint=target.id,
            undo=[e.activity.id for e in effects if e.fate == "undoable"],
            reason=reason,
            actor="user:1",
            head=row.head,
        )

    def lease(self, thread: UUID) -> Work:
        work = leases.acquire(thread, owner="worker:elsewhere")
        assert work is not None
        return work

    def ledger(self) -> Ledger:
        return DatabaseLedger()

    def kinds(self, thread: UUID) -> list[str]:
        return [e.kind for e in self.events(thread)]

    def events(self, thread: UUID) -> list[EventRow]:
        return queries.events_after(thread, 0)

    def state_at(self, thread: UUID, checkpoint: UUID) -> dict[str, Any]:
        return queries.state_at(thread, checkpoint)

    def checkpoints(self, thread: UUID) -> list[CheckpointRow]:
        return list(queries.checkpoints(thread).rows)

    def checkpoint(self, thread: UUID, number: int) -> CheckpointRow:
        return queries.checkpoint_by_number(thread, number)

    def activities(self, thread: UUID) -> list[ActivityRow]:
        return queries.activities(thread)[::-1]

    def approvals(self, thread: UUID) -> list[ApprovalRow]:
        return approval_queries.for_thread(thread)[::-1]

    def waiting_inputs(self, thread: UUID) -> list[InputRow]:
        return queries.waiting_inputs(thread)

    def config(self, thread: UUID) -> dict[str, Any]:
        return queries.config_of(thread)

    def intact(self, thread: UUID) -> bool:
        return verify_thread(thread).intact

    # ---- what people do, as the actions put it together ----

    def fork(self, base: UUID, number: int, changes: dict[str, Any], **more: Any) -> UUID:
        point = self.checkpoint(base, number).id
        return store.fork(base, checkpoint=point, changes=changes, actor="user:2", **more)

    @transaction.atomic
    def edit(self, thread: UUID, changes: dict[str, Any], reason: str) -> None:
        gates.withdraw_open(thread, reason=f"The state was edited: {reason}", actor="user:1")
        store.edit(thread, changes=changes, reason=reason, actor="user:1")

    def pause(self, thread: UUID, before_node: str = "") -> str:
        return store.pause(thread, actor="user:1", before_node=before_node)

    def resume(self, thread: UUID) -> None:
        store.resume(thread, actor="user:1")

    def retry(self, thread: UUID) -> None:
        store.retry(thread, actor="user:1")

    def skip(self, thread: UUID, node: str, reason: str = "not needed") -> None:
        store.skip(thread, node=node, reason=reason, actor="user:1")

    @transaction.atomic
    def cancel(self, thread: UUID, *, undo: bool = False, unknown: bool = False) -> None:
        gates.withdraw_open(thread, reason="The thread was cancelled.", actor="user:1")
        fates = queries.effects_of(thread) if undo else []
        chosen = plans.chosen(fates, unknown=unknown)
        if not chosen:
            store.cancel(thread, actor="user:1")
            return
        target = queries.checkpoint_before(chosen[-1].activity)
        more: dict[str, Any] = {"reason": "enough", "by": "user:1", "then": "cancelled"}
        plan = plans.plan_back_to(target, fates, unknown=unknown, **more)
        store.cancel_and_undo(thread, plan=plan, head=self.row(thread).head)

    def send(self, thread: UUID, message: Any) -> int:
        return store.send_input(thread, message=message, actor="user:1")

    def signal(self, thread: UUID, name: str, value: Any = None) -> int:
        return store.send_signal(thread, name=name, value=value, actor="user:1")

    # ---- the clock ----

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def wake_sleepers(self) -> int:
        return store.wake_sleepers(owner="sweep")

    def deliver_due(self, thread: UUID) -> None:
        store.deliver_due(actor="sweep", older_than_seconds=0)

    def expire_due(self) -> int:
        return gates.expire_due()


def bench_of(module: Any) -> Bench:
    """A bench for the agent that a module holds, in a workspace of its own."""
    workspace = store.create_workspace(f"bench {module.__name__}", actor="user:0")
    tools = getattr(module, "TOOLS", {})
    return Bench(announce(module.graph, tools, [module]), workspace)


@pytest.fixture
def make_bench(db: None) -> Callable[[Any], Bench]:
    """What makes a bench of a module."""
    return bench_of


@pytest.fixture
def bench(make_bench: Callable[[Any], Bench]) -> Bench:
    """The sample agent `orders`, with its call counter emptied."""
    samples.counter.calls.clear()
    return make_bench(samples)


@pytest.fixture
def play(make_bench: Callable[[Any], Bench]) -> Bench:
    """The agent `unsure`, whose effects can be lost, with nothing done yet."""
    unsure.world.clear()
    return make_bench(unsure)
