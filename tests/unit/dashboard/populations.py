"""Workspaces full of random threads, for tests that compare a page with the database."""

from __future__ import annotations

import random
from contextlib import suppress
from uuid import UUID

from django.contrib.auth.models import Group

from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import store
from checkpoints.states import EventKind, Status
from dashboard import errors
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import bring_to, one, rows

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
    results = []
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
        results.append(row.id)
        if n % 3:
            _vote(cast, row, dice)
    rows("UPDATE gp_thread SET title = 'Delays in winter'")
    return results


def _vote(cast: Cast, row: ApprovalRow, dice: random.Random, *, opens: float = 0.5) -> None:
    """One or two people say something to a request; who opened it first is noted."""
    for name in ("manager", "second_manager")[: dice.randrange(1, 3)]:
        if dice.random() < opens:
            cast.client(name).get(f"/approvals/{row.id}/")
        approval = queries.approval(row.id, workspace=row.workspace)
        verdict = dice.choice(["approve", "approve", "edit", "reject"])
        args = approval.shown_args | {"amount": f"{dice.randrange(1, 900)}.25"}
        if approval.open:
            with suppress(errors.ActionError):
                decisions.decide(
                    cast.actor(name),
                    row.id,
                    verdict,
                    approval.standing_hash,
                    "seen" if verdict == "reject" else "",
                    args if verdict == "edit" else None,
                )


AMOUNTS = ("0", "1", "0.01", "-12.50", "1000", "90000.50", "90000.50", "999999999999.99")


def _about(dice: random.Random) -> dict[str, object]:
    """Arguments of a request: an amount with or without a currency, inside or not, or none."""
    amount = {"amount": dice.choice(AMOUNTS)}
    if currency := dice.choice(["EUR", "EUR", "EUR", "USD", "CHF", ""]):
        amount["currency"] = currency
    return dice.choice(
        [
            amount,
            amount,
            amount,
            amount,
            {"payment": amount, "to": "Ada"},
            {"report": "x" * dice.randrange(9)},
            {"recipients": ["Ada", "Eve"][: dice.randrange(3)] * dice.randrange(1, 800)},
        ]
    )


def piled(cast: Cast, dice: random.Random, n: int = 70) -> None:
    """Requests of many kinds in both workspaces: alike ones, stages, teams, votes, all ends."""
    agents = [scene.make_agent("research"), scene.make_agent("payments")]
    cast.users["second_manager"].groups.add(Group.objects.get_or_create(name="finance")[0])
    managers = [f"user:{cast.users[name].pk}" for name in ("manager", "second_manager")]
    seats = [Seat(), Seat(count=2), Seat(people=("manager",)), Seat(teams=("finance",), count=1)]
    for _ in range(n):
        chosen = dice.choice([(0,), (0,), (0,), (1,), (2,), (3,), (2, 3), (3, 0), (1, 0)])
        row = scene.waiting(
            dice.choice([cast.workspace] * 6 + [cast.elsewhere]),
            dice.choice(agents),
            args=_about(dice),
            title=dice.choice(["Pay rent", "Pay rent", f"Pay invoice {dice.randrange(9)}"]),
            risk=dice.choice(["low", "low", "low", "medium", "high"]),
            terms=Terms(
                stages=tuple(seats[at] for at in chosen),
                barred=(dice.choice(managers),) if dice.random() < 0.15 else (),
                undo_window=dice.choice([0, 0, 600]),
            ),
            expires_in=dice.choice([None, None, 1_800, 18_000]),
        )
        if row.workspace == cast.workspace:
            _go_through(cast, row, dice)
    rows("UPDATE gp_thread SET title = 'Delays in winter'")


def _go_through(cast: Cast, row: ApprovalRow, dice: random.Random) -> None:
    """What happens to a request: votes, some taken back; withdrawn, expired, or nothing more."""
    if dice.random() < 0.5:
        _vote(cast, row, dice, opens=0)
    if dice.random() < 0.3:
        with suppress(errors.ActionError):
            decisions.take_back(cast.actor(dice.choice(["manager", "second_manager"])), row.id)
    fate = dice.random()
    if fate < 0.1:
        gates.withdraw_open(row.thread, reason="edited", actor="user:1")
    elif fate < 0.2:
        rows(
            "UPDATE gp_approval SET decide_by = requested_at WHERE id = %s AND status = 'pending'",
            (row.id,),
        )
        gates.expire_due()
