"""A fleet in this process: whoever is queued is worked on, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.verification.approvals import Approvals
from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.records import Work
from checkpoints.views import ThreadRow
from workers.authoring.graph import END, Graph
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.engine.rollback import roll_back
from workers.node.context import Context
from workers.step.ledger import DatabaseLedger
from workers.step.step import Agent, OpenStep

from . import agents
from .agents import GRAPHS

HEART: Any = SimpleNamespace(check=lambda: None)


@dataclass
class Fleet:
    """Starts and works on threads of several agents."""

    agents: dict[str, Agent]
    workspace: UUID
    worked: list[UUID] = field(default_factory=list)

    def start(self, agent: str, **input: Any) -> UUID:
        return store.start(
            self.agents[agent].version_id,
            input=input,
            workspace=self.workspace,
            actor="user:1",
            title="A test",
        )

    def work_on(self, thread: UUID) -> bool:
        """Work on one thread until it stops; whether it could be had."""
        work = leases.acquire(thread, owner="worker:test")
        if work is None:
            return False
        self.worked.append(thread)
        parts: dict[str, Any] = {
            "agent": self.agents[work.agent],
            "ledger": DatabaseLedger(),
            "heartbeat": HEART,
            "stopping": lambda: False,
        }
        if work.status == "rolling_back":
            roll_back(work, **parts)
        else:
            Engine(**parts).advance(work)
        return True

    def open_step(self, work: Work) -> Context:
        """What a node of the next step gets."""
        step = OpenStep(work, work.step + 1, DatabaseLedger(), HEART, lambda: False)
        return Context(step, "start")

    def install_other_writer(self) -> None:
        """Put another writer in place; everybody else stays as they are."""
        other = Graph("writer", agents.Draft, version=2)

        @other.node(then=END)
        def write(state: agents.Draft, ctx: Context) -> dict[str, Any]:
            return {"text": "SHORT"}

        self.agents["writer"] = announce(other, {}, ())

    def resume(self, thread: UUID) -> None:
        store.resume(thread, actor="user:1")

    def edit(self, thread: UUID, **changes: Any) -> None:
        """Write over the state of a failed thread, and let it go on."""
        store.edit(thread, changes=changes, reason="for a test", actor="user:1")
        store.retry(thread, actor="user:1")

    @property
    def event_checks(self) -> Any:
        """What verification compares beside the ground floor."""
        return (Approvals,)

    def queued(self) -> list[UUID]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM gp_thread WHERE status = 'queued' ORDER BY status_since, id"
            )
            return [thread for (thread,) in cursor.fetchall()]

    def work(self, *, rounds: int = 1_000) -> None:
        """Work until nobody is queued any more."""
        for _ in range(rounds):
            queued = self.queued()
            if not queued:
                return
            self.work_on(queued[0])
        raise AssertionError("it comes to no end")

    def row(self, thread: UUID) -> ThreadRow:
        return queries.thread(thread, workspace=self.workspace)

    def state(self, thread: UUID) -> dict[str, Any]:
        return queries.state_at(thread, self.row(thread).head)

    def kinds(self, thread: UUID) -> list[str]:
        return [event.kind for event in queries.events_after(thread, 0)]

    def children(self, thread: UUID) -> list[UUID]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT child_id FROM gp_child WHERE parent = %s ORDER BY fan_out, ordinal",
                (thread,),
            )
            return [child for (child,) in cursor.fetchall()]

    def verify(self) -> None:
        """Every thread holds, children and parents."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM gp_thread")
            threads = [thread for (thread,) in cursor.fetchall()]
        for thread in threads:
            report = verify_thread(thread)
            assert report.intact, report.what


@pytest.fixture
def fleet(real_db: str) -> Fleet:
    agents = {graph.name: announce(graph, {}, ()) for graph in GRAPHS}
    return Fleet(agents, store.create_workspace("family", actor="user:1"))


def wait_until(answer: Callable[[], object], *, seconds: float = 20) -> None:
    """Ask until the answer is true; AssertionError when it is not in time."""
    deadline = time.monotonic() + seconds
    while not answer():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)
