"""What people want of a thread reaches all that it started, by choice, one generation at a time."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from approvals import queries as approval_queries
from approvals.policies import caps
from approvals.policies.queries import CapRow
from checkpoints import queries, store
from dashboard.errors import NotAllowedNow
from dashboard.identity.permissions import actor_of
from dashboard.threads.cancel import cancel, preview_cancel
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from dashboard.threads.roll_back import preview_roll_back
from workers.slot import reached
from workers.testing.harness import Harness, Reply

from . import agents
from .agents import clerk
from .conftest import Fleet


@pytest.fixture(autouse=True)
def fresh() -> None:
    agents.paid.clear()


@pytest.fixture
def line(fleet: Fleet) -> list[UUID]:
    """A thread, its child, the child of that, which stands at a gate."""
    thread = fleet.start("clerk", to="Ada", depth=2)
    fleet.work()
    results = [thread]
    while below := fleet.children(results[-1]):
        results += below
    return results


def statuses(fleet: Fleet, line: list[UUID]) -> list[str]:
    return [str(fleet.row(thread).status) for thread in line]


def carry_out() -> int:
    """Let sweeps do all that is due."""
    rounds = 0
    while reached.carry_out():
        rounds += 1
    return rounds


def test_a_cancel_reaches_the_tree_one_generation_after_the_other(
    fleet: Fleet, line: list[UUID]
) -> None:
    with transaction.atomic():
        store.cancel(line[0], actor="user:1")
        store.reach_children(line[0], "cancel", actor="user:1")
    assert statuses(fleet, line) == ["cancelled", "waiting", "waiting"]
    assert carry_out() == 2
    assert statuses(fleet, line) == ["cancelled"] * 3
    assert approval_queries.for_thread(line[2], open_only=True) == []
    fleet.verify()


def test_without_the_choice_children_go_on(fleet: Fleet, line: list[UUID]) -> None:
    store.cancel(line[0], actor="user:1")
    assert carry_out() == 0
    assert statuses(fleet, line) == ["cancelled", "waiting", "waiting"]


def test_a_pause_and_its_end_reach_the_tree(fleet: Fleet, line: list[UUID]) -> None:
    with transaction.atomic():
        store.pause(line[0], actor="user:1")
        store.reach_children(line[0], "pause", actor="user:1")
    carry_out()
    assert statuses(fleet, line) == ["paused"] * 3
    with transaction.atomic():
        store.resume(line[0], actor="user:1")
        store.reach_children(line[0], "resume", actor="user:1")
    carry_out()
    fleet.work()
    assert statuses(fleet, line) == ["waiting"] * 3
    fleet.verify()


def test_what_is_lost_between_two_generations_is_taken_up(
    fleet: Fleet, line: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that carries it out dies in the middle of a transaction."""
    with transaction.atomic():
        store.cancel(line[0], actor="user:1")
        store.reach_children(line[0], "cancel", actor="user:1")

    def lost(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "reach_children", lost)
    with pytest.raises(KeyboardInterrupt):
        reached.carry_out()
    monkeypatch.undo()
    assert statuses(fleet, line) == ["cancelled", "waiting", "waiting"]
    carry_out()
    assert statuses(fleet, line) == ["cancelled"] * 3


def test_a_rollback_ends_what_was_started_after_the_target(fleet: Fleet, line: list[UUID]) -> None:
    first = queries.checkpoint_by_number(line[0], 0)
    started = queries.started_after(line[0], first.id)
    assert started == [line[1]]
    assert queries.below(line[0], only=started) == {"waiting": 2}
    assert queries.below(line[0], only=[]) == {}
    store.reach_children(line[0], "undo", actor="user:1", only=started)
    carry_out()
    assert statuses(fleet, line) == ["queued", "cancelled", "cancelled"]  # one join has failed


def test_an_action_reaches_children_and_says_so_before(fleet: Fleet, line: list[UUID]) -> None:
    user = get_user_model().objects.create_user("conductor")
    store.grant(fleet.workspace, user.pk, "operator", actor="user:0")
    actor = actor_of(user)
    assert preview_cancel(actor, line[0]).children == {"waiting": 2}
    first = queries.checkpoint_by_number(line[0], 0)
    with pytest.raises(NotAllowedNow):  # it has made no step yet: nothing to go back over
        preview_roll_back(actor, line[0], first.id)
    PAUSE.run(actor, Pause(children=True), line[0])
    carry_out()
    assert statuses(fleet, line) == ["paused"] * 3
    RESUME.run(actor, Resume(children=True), line[0])
    carry_out()
    cancel(actor, line[0], "enough", children=True)
    carry_out()
    assert statuses(fleet, line) == ["cancelled"] * 3


# ---- spending ------------------------------------------------------------------------------------


def test_the_cap_of_a_thread_counts_its_tree(
    fleet: Fleet, line: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fleet.start("clerk", to="Ada", depth=0)
    cap = CapRow(uuid4(), fleet.workspace, "thread", "", "total", Decimal("1"), True)
    monkeypatch.setattr(caps.queries_policies, "caps", lambda *_, **__: [cap])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_thread SET cost = 0.4")
    facts = {"workspace": fleet.workspace, "agent": "clerk"}
    for thread in line:
        assert "with its family tree, has spent 1.2" in caps.spend_refusal(**facts, thread=thread)
    assert caps.spend_refusal(**facts, thread=other) == ""


def test_a_harness_counts_the_tree() -> None:
    calls = []

    def answer(request: object) -> Reply:
        calls.append(request)
        return Reply("yes", model="m", tokens_in=1, cost="0.60")

    thread = Harness(clerk, cap="1.00").play(
        {"to": "Ada", "depth": 1, "costs": "1"}, decide="approve", model=answer
    )
    (child,) = thread.children
    assert (thread.status, child.status) == ("waiting", "paused")
    assert "1.2, and 1.00 is its cap" in child.reason
    assert len(calls) == 2
