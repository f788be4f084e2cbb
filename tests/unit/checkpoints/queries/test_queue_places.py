"""What is before a queued thread: threads of its workspace, and turns of others meanwhile."""

from __future__ import annotations

from uuid import UUID

import pytest

from checkpoints import leases, queries, store
from checkpoints.queries.installation import queue_places
from checkpoints.views import QueuePlace
from tests.unit.checkpoints.builders import (
    OPERATOR,
    acquired,
    make_agent,
    make_thread,
    make_workspace,
)

pytestmark = pytest.mark.django_db


def place(thread: UUID, workspace: UUID) -> QueuePlace | None:
    return queries.queue_place(queries.thread(thread, workspace=workspace))


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
    assert place(thread, own) == QueuePlace("gatepost", before=3, turns=4 + 1, workspaces=2)
    assert place(earlier[0], own) == QueuePlace("gatepost", before=0, turns=1 + 1, workspaces=2)
    taken = taken_until(thread)
    assert set(earlier) < set(taken)
    assert len(set(taken) & set(crowd)) <= 4
    assert len(taken) <= 3 + 4 + 1
    now = place(thread, own)
    assert now is not None
    assert (now.before, now.turns) == (0, 1)


def test_what_waits_for_something_else_has_no_place() -> None:
    workspace = make_workspace()
    paused, stopped, running = (make_thread(workspace=workspace) for _ in range(3))
    store.pause(paused, actor=OPERATOR)
    acquired(running)
    assert place(paused, workspace) is None
    assert place(running, workspace) is None
    store.trip_breaker(workspace, {}, reason="Look first.", actor=OPERATOR)
    assert place(stopped, workspace) is None


def test_counting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, other = make_workspace(), make_workspace()
    few = queue_places.SQL.place.replace("LIMIT 1000", "LIMIT 5")
    assert few.count("LIMIT 5") == 2
    monkeypatch.setattr(queue_places.SQL, "_texts", {"place": few})
    threads = [make_thread(workspace=workspace) for _ in range(9)]
    for _ in range(9):
        make_thread(workspace=other)
    assert place(threads[-1], workspace) == QueuePlace("gatepost", 5, 5, 1)
