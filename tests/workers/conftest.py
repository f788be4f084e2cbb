"""A bench for the engine on the real store: threads are advanced in this very process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from approvals import gates
from approvals import queries as approval_queries
from approvals.queries import ApprovalRow
from checkpoints import leases, queries, store
from checkpoints.models import Workspace
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from workers.engine import Engine
from workers.ledger import DatabaseLedger
from workers.registry import announce
from workers.rollback import roll_back
from workers.step import Agent

from . import samples


@dataclass
class Bench:
    """Starts, advances and decides threads of one agent."""

    agent: Agent
    workspace: UUID
    stopping: Callable[[], bool] = lambda: False

    def start(self, **input: Any) -> UUID:
        return store.start(
            self.agent.version_id,
            input=input,
            workspace=self.workspace,
            actor="user:1",
            title="A test",
        )

    def advance(self, thread: UUID, *, slice_seconds: float = 30) -> ThreadRow:
        """Lease the thread and work until it stops; its row afterwards."""
        work = leases.acquire(thread, owner="worker:test") or leases.take_over(
            thread, owner="worker:test"
        )
        assert work is not None, self.row(thread).status
        parts: dict[str, Any] = {
            "agent": self.agent,
            "ledger": DatabaseLedger(),
            "heart": SimpleNamespace(check=lambda: None),
            "stopping": self.stopping,
        }
        if work.status is Status.ROLLING_BACK:
            roll_back(work, **parts)
        else:
            Engine(**parts, slice_seconds=slice_seconds).advance(work)
        return self.row(thread)

    def row(self, thread: UUID) -> ThreadRow:
        return queries.thread(thread, workspace=self.workspace)

    def state(self, thread: UUID) -> dict[str, Any]:
        return queries.state_at(thread, self.row(thread).head)

    def open(self, thread: UUID) -> ApprovalRow:
        (found,) = approval_queries.for_thread(thread, open_only=True)
        return found

    def decide(self, thread: UUID, verdict: str, comment: str = "", args: Any = None) -> None:
        row = self.open(thread)
        gates.decide(
            row.id,
            workspace=self.workspace,
            reviewer=gates.Reviewer("user:2", "manager"),
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
            args=args,
        )

    def roll_back(self, thread: UUID, number: int, reason: str = "wrong") -> ThreadRow:
        row = self.row(thread)
        target = queries.checkpoint_by_number(thread, number)
        effects = queries.effects_after(thread, target.id)
        store.roll_back(
            thread,
            checkpoint=target.id,
            undo=[e.activity.id for e in effects if e.fate == "undoable"],
            reason=reason,
            actor="user:1",
            head=row.head,
        )
        return self.advance(thread)

    def kinds(self, thread: UUID) -> list[str]:
        return [e.kind for e in queries.events_after(thread, 0)]


def bench_of(module: Any) -> Bench:
    """A bench for the agent that a module holds, in a workspace of its own."""
    workspace = Workspace.objects.create(name=f"bench {module.__name__}")
    tools = getattr(module, "TOOLS", {})
    return Bench(announce(module.graph, tools, [module]), workspace.id)


@pytest.fixture
def bench(db: None) -> Bench:
    """The sample agent `orders`, with its call counter emptied."""
    samples.counter.calls.clear()
    return bench_of(samples)
