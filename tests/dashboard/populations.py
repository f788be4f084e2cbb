"""Workspaces full of random threads, for tests that compare a page with the database."""

from __future__ import annotations

import random
from contextlib import suppress
from uuid import UUID

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.terms import Seat, Terms
from checkpoints import store
from checkpoints.states import EventKind, Status
from dashboard import actions, errors
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
        scene.gate(work, expires_in=dice.choice([None, 600]))
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


def requested(cast: Cast, dice: random.Random) -> list[UUID]:
    """Requests of every risk, some alike, some due soon, some with votes, edits or decisions."""
    agents = [scene.make_agent("research"), scene.make_agent("payments")]
    found = []
    for n in range(24):
        amount = {"to": dice.choice(["Ada", "Eve"]), "amount": f"{dice.randrange(1, 90_000)}.50"}
        seats = [Seat(count=dice.randrange(1, 3)) for _ in range(dice.choice([1, 1, 2]))]
        due = dice.choice([None, 1_800, 18_000])
        row = scene.waiting(
            cast.workspace,
            dice.choice(agents),
            args=amount | {"currency": "EUR"},
            title=f"Pay {dice.choice(['rent', 'wages'])}",
            risk=dice.choice(["low", "low", "medium", "high"]),
            terms=Terms(stages=tuple(seats)),
            expires_in=due,
        )
        found.append(row.id)
        if n % 3:
            _vote(cast, row, dice)
    rows("UPDATE gp_thread SET title = 'Delays in winter'")
    return found


def _vote(cast: Cast, row: ApprovalRow, dice: random.Random) -> None:
    """One or two people say something to a request; who opened it first is noted."""
    for name in ("manager", "second_manager")[: dice.randrange(1, 3)]:
        if dice.random() < 0.5:
            cast.client(name).get(f"/approvals/{row.id}/")
        stands = queries.approval(row.id, workspace=row.workspace)
        verdict = dice.choice(["approve", "approve", "edit", "reject"])
        args = stands.shown_args | {"amount": f"{dice.randrange(1, 900)}.25"}
        if stands.open:
            with suppress(errors.ActionError):
                actions.decide(
                    cast.actor(name),
                    row.id,
                    verdict,
                    stands.standing_hash,
                    "seen" if verdict == "reject" else "",
                    args if verdict == "edit" else None,
                )
