"""A workspace with one thread of each interesting kind, for tests of pages."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.support.cast import Cast

from . import scene


@dataclass(frozen=True)
class Examples:
    """The cast, and the threads by what became of them."""

    cast: Cast
    agent: UUID
    queued: UUID
    done: UUID
    failed: UUID
    request: ApprovalRow
    fork: UUID

    @property
    def waiting(self) -> UUID:
        return self.request.thread


def make_examples(cast: Cast) -> Examples:
    """Threads that are queued, waiting, failed, done and forked, made without an engine."""
    agent = scene.make_agent()
    scene.alive(agent)
    start = lambda: scene.start(cast.workspace, agent, by=cast.actor("operator").id)  # noqa: E731
    queued = start()
    work = scene.lease(start())
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="final", leave_by=EventKind.THREAD_SUCCEEDED)
    broken = scene.lease(start())
    store.leave(broken, EventKind.THREAD_FAILED, reason="The column “delay” is missing")
    request = scene.waiting(cast.workspace, agent)
    forked = store.fork(
        work.thread,
        checkpoint=queries.checkpoint_by_number(work.thread, 1).id,
        changes={"goal": "weather"},
        actor=cast.actor("manager").id,
    )
    return Examples(cast, agent, queued, work.thread, broken.thread, request, forked)
