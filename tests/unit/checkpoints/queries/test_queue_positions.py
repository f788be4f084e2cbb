"""What is before a queued thread: threads of its workspace, and turns of others meanwhile."""

from __future__ import annotations

from uuid import UUID

import pytest

from checkpoints import leases, queries, store
from checkpoints.queries.installation import queue_positions
from checkpoints.views import QueuePosition
from tests.unit.checkpoints.builders import (
    OPERATOR,
    acquired,
    make_agent,
    make_thread,
    make_workspace,
    rows,
)

pytestmark = pytest.mark.django_db


def position_of(thread: UUID, workspace: UUID) -> QueuePosition | None:
    return queries.queue_position(queries.thread(thread, workspace=workspace))


def taken_until(thread: UUID) -> list[UUID]:
    """The threads that one slot takes, workspaces in turn, before it takes this one."""
    taken: list[UUID] = []
    after = leases.BEFORE_ALL
    while True:
        turn = leases.next_queued("gatepost", after=after)
        assert turn is not None
        if turn.thread == thread:
            return taken
        acquired(turn.thread)
        taken.append(turn.thread)
        after = turn.workspace


def test_the_place_counts_what_a_slot_takes_first() -> None:
    own, noisy, small = (make_workspace() for _ in range(3))
    earlier = [make_thread(workspace=own) for _ in range(3)]
    thread = make_thread(workspace=own)
    make_thread(workspace=own)
    crowd = [make_thread(workspace=noisy) for _ in range(20)]
    make_thread(workspace=small)
    make_thread(workspace=noisy, agent=make_agent("elsewhere", queue="other"))

    # Of the crowd one thread for each of its own, and one for itself: the others come later.
    assert position_of(thread, own) == QueuePosition(
        "gatepost", before=3, turns=4 + 1, workspaces=2
    )
    assert position_of(earlier[0], own) == QueuePosition(
        "gatepost", before=0, turns=1 + 1, workspaces=2
    )
    taken = taken_until(thread)
    assert set(earlier) < set(taken)
    assert len(set(taken) & set(crowd)) <= 4
    assert len(taken) <= 3 + 4 + 1
    now = position_of(thread, own)
    assert now is not None
    assert (now.before, now.turns) == (0, 1)


def test_the_place_of_a_thread_that_was_moved_up() -> None:
    workspace = make_workspace()
    first, second, third, fourth = (make_thread(workspace=workspace) for _ in range(4))
    for thread in (third, fourth):
        store.move_up(thread, reason="A customer waits.", actor=OPERATOR)
    befores = {}
    for thread in (fourth, third, first, second):
        now = position_of(thread, workspace)
        assert now is not None
        befores[thread] = now.before
    assert [*befores.values()] == [0, 1, 2, 3]
    assert taken_until(second) == [fourth, third, first]


@pytest.mark.parametrize("joins", ["hashjoin", "nestloop", "mergejoin"])
def test_the_order_is_not_that_of_a_join(joins: str) -> None:
    workspace = make_workspace()
    first, second, third, moved = (make_thread(workspace=workspace) for _ in range(4))
    store.move_up(moved, reason="A customer waits.", actor=OPERATOR)
    for other in {"hashjoin", "nestloop", "mergejoin"} - {joins}:
        rows(f"SET LOCAL enable_{other} = off")
    assert taken_until(third) == [moved, first, second]


def test_what_waits_for_something_else_has_no_place() -> None:
    workspace = make_workspace()
    paused, stopped, running = (make_thread(workspace=workspace) for _ in range(3))
    store.pause(paused, actor=OPERATOR)
    acquired(running)
    assert position_of(paused, workspace) is None
    assert position_of(running, workspace) is None
    store.trip_breaker(workspace, {}, reason="Look first.", actor=OPERATOR)
    assert position_of(stopped, workspace) is None


def test_counting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, other = make_workspace(), make_workspace()
    few = queue_positions.SQL.position.replace("LIMIT 1000", "LIMIT 5")
    assert few.count("LIMIT 5") == 2
    monkeypatch.setattr(queue_positions.SQL, "_texts", {"position": few})
    threads = [make_thread(workspace=workspace) for _ in range(9)]
    for _ in range(9):
        make_thread(workspace=other)
    assert position_of(threads[-1], workspace) == QueuePosition("gatepost", 5, 5, 1)
