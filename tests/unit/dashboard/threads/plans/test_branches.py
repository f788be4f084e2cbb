"""What previews list of effects equals what the tables hold, over rollbacks and branches."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from approvals import gates
from checkpoints import queries, store
from checkpoints.states import Status
from dashboard.threads.cancel import preview_cancel
from dashboard.threads.roll_back import preview_roll_back
from tests.support.cast import Cast
from tests.support.reviewers import reviewer_in
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.approvals.test_approvals import look
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import unsure

pytestmark = pytest.mark.django_db
DONE = "kind = 'effect' AND state IN ('done', 'started', 'unknown')"


@pytest.fixture
def bench(cast: Cast) -> Bench:
    unsure.world.clear()
    bench = bench_of(unsure)
    bench.workspace = cast.workspace
    return bench


def finish(bench: Bench, thread: UUID) -> None:
    """Work, and approve whatever is asked on the way."""
    for _ in range(30):
        row = bench.row(thread)
        if row.status is Status.WAITING:
            one = bench.open(thread)
            gates.decide(
                one.id,
                workspace=bench.workspace,
                reviewer=reviewer_in(bench.workspace),
                verdict="approve",
                proposal_hash=one.standing_hash,
            )
        elif row.status is Status.QUEUED:
            bench.advance(thread)
        else:
            return
    raise AssertionError(bench.row(thread).status)


@transaction.atomic
def roll_back(bench: Bench, thread: UUID, number: int, *, undo: bool) -> None:
    target = queries.checkpoint_by_number(thread, number)
    after = queries.effects_after(thread, target.id)
    store.roll_back(
        thread,
        checkpoint=target.id,
        undo=[f.activity.id for f in after if f.fate == "undoable"] if undo else [],
        reason="wrong",
        actor="user:1",
        head=bench.row(thread).head,
    )


def all_done(thread: UUID) -> set[UUID]:
    return {
        r[0] for r in rows(f"SELECT id FROM gp_activity WHERE thread_id = %s AND {DONE}", (thread,))
    }


def after(thread: UUID, number: int) -> set[UUID]:
    """Effects of the steps on the way from the head back to a checkpoint, by its parents."""
    result = rows(
        "WITH RECURSIVE way AS (SELECT c.* FROM gp_checkpoint c JOIN gp_thread t ON t.head = c.id "
        "WHERE t.id = %s UNION ALL SELECT c.* FROM gp_checkpoint c JOIN way w ON c.id = w.parent "
        "WHERE w.number > %s AND c.thread_id = w.thread_id) "
        "SELECT DISTINCT x.id FROM gp_activity x JOIN (SELECT thread_id, branch, step FROM way "
        f"WHERE number > %s) p USING (thread_id, branch, step) WHERE {DONE}",
        (thread, number, number),
    )
    return {r[0] for r in result}


def ids(fates: Any) -> set[UUID]:
    return {fate.activity.id for fate in fates}


@pytest.mark.slow
def test_the_lists_of_every_preview_are_those_of_the_tables(bench: Bench, cast: Cast) -> None:
    chance, left, previews = random.Random(7), 0, 0
    operator = cast.actor("operator")
    for _ in range(8):
        thread = bench.start(tool=chance.choice(["pay", "shout"]), rounds=chance.randint(2, 4))
        finish(bench, thread)
        for _ in range(chance.randint(1, 3)):
            head = queries.checkpoint(thread, bench.row(thread).head)
            on_branch = [c.number for c in bench.checkpoints(thread) if c.branch == head.branch]
            numbers = [n for n in on_branch if n < head.number]
            for number in numbers:
                plan = preview_roll_back(operator, thread, bench.checkpoint(thread, number).id)
                assert ids(plan.effects) == after(thread, number)
                previews += 1
            if not numbers:
                break
            roll_back(bench, thread, chance.choice(numbers), undo=chance.random() < 0.5)
            bench.advance(thread)
            bench.resume(thread)
            finish(bench, thread)
        if bench.row(thread).status is Status.SUCCEEDED:
            number = bench.row(thread).number
            roll_back(bench, thread, max(0, number - 1), undo=False)
            bench.advance(thread)
        plan = preview_cancel(operator, thread)
        assert ids(plan.all_effects) == all_done(thread)
        assert len(plan.all_effects) == len(all_done(thread))
        assert not ids(plan.left) & set(plan.undo)
        left += len(plan.left)
        previews += 1
    assert left > 8
    assert previews > 20


def test_what_a_left_branch_did_is_named_and_never_undone(bench: Bench, cast: Cast) -> None:
    """The mails went out, then the thread was rolled back: the preview does not say "nothing"."""
    thread = bench.start(tool="shout", rounds=2)
    finish(bench, thread)
    roll_back(bench, thread, 0, undo=True)
    bench.advance(thread)
    client = cast.client("operator")
    html = client.get(f"/threads/{thread}/cancel/").content.decode()
    assert "It changed nothing outside" not in html
    assert html.count('data-fate="stays"') == 2
    assert "2 effects stay done" in html
    payload = client.post(
        f"/api/v1/threads/{thread}/cancel/?preview=1", {"undo": True}, "application/json"
    ).json()
    assert [e["fate"] for e in payload["effects"]] == ["stays", "stays"]
    assert payload["undo"] == []
    assert all("before a rollback" in e["text"] for e in payload["effects"])


def test_the_request_names_what_has_no_undo_beside_its_own_tool(bench: Bench, cast: Cast) -> None:
    thread = bench.start(tool="pay", gated=True)
    assert bench.advance(thread).status is Status.WAITING
    text = look(cast, bench.open(thread))
    assert "Only partly undoable" in text
    assert "Later steps that cannot be undone: mail , shout" in text
    assert "This step, yes, by rolling the thread back" in text
