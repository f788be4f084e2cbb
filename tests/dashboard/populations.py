"""Workspaces full of random threads, for tests that compare a page with the database."""

from __future__ import annotations

import random
from uuid import UUID

from checkpoints import store
from checkpoints.states import EventKind, Status
from tests.cast import Cast
from tests.checkpoints.builders import bring_to, one, rows

from . import scene


def _lived(cast: Cast, agent: UUID, dice: random.Random) -> UUID:
    """A thread of some steps with effects, an edit, perhaps a rollback and a fork."""
    work = scene.lease(scene.start(cast.workspace, agent, by=cast.actor("operator").id))
    scene.effect(work)
    for n in range(dice.randrange(1, 4)):
        scene.step(work, report="x" * dice.randrange(200), findings=["tea"] * n)
    if dice.random() < 0.5:
        scene.gate(work, deadline=None) if dice.random() < 0.3 else scene.gate(work)
    else:
        store.leave(work, EventKind.THREAD_PAUSED)
        for _ in range(dice.randrange(3)):
            values = {"goal": "g" * dice.randrange(3, 30)}
            store.edit(work.thread, changes=values, reason="typo", actor="user:1")
    if dice.random() < 0.5:
        first = one(
            "SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = 1", (work.thread,)
        )
        store.fork(work.thread, checkpoint=first, changes={"goal": "weather"}, actor="user:1")
    return work.thread


def populate(cast: Cast, dice: random.Random) -> list[UUID]:
    """Threads in all statuses, with forks, edits, requests and effects."""
    agents = [scene.make_agent("research"), scene.make_agent("payments")]
    scene.alive(*agents)
    threads = []
    for status in Status:
        for _ in range(dice.randrange(1, 4)):
            thread = scene.start(cast.workspace, dice.choice(agents))
            bring_to(thread, status)
            threads.append(thread)
    threads += [_lived(cast, dice.choice(agents), dice) for _ in range(6)]
    rows("UPDATE gp_thread SET title = 'Delays in winter'")
    return threads
