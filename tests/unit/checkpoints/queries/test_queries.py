"""The readers: pages without gaps, the way through branches and forks, indexes where it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from checkpoints import queries, store
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    effect,
    head_of,
    make_agent,
    make_thread,
    make_workspace,
    new_activity,
    rows,
)

pytestmark = pytest.mark.django_db
K = EventKind


def numbered(thread: UUID, number: int) -> UUID:
    return queries.checkpoint_by_number(thread, number).id


# --- pages ------------------------------------------------------------------------------------


def all_pages(read: Callable[[str], Any]) -> list[list[Any]]:
    pages, cursor = [], ""
    while True:
        page = read(cursor)
        pages.append(list(page.rows))
        cursor = page.next_cursor
        if not cursor:
            return pages


@pytest.mark.parametrize("n_threads", [0, 1, 4, 5, 11])
def test_threads_come_in_pages_without_gap_or_repetition(n_threads: int) -> None:
    workspace, agent = make_workspace(), make_agent()
    made = [make_thread(workspace=workspace, agent=agent) for _ in range(n_threads)]
    if n_threads > 3:  # equal times are told apart by the id
        rows("UPDATE gp_thread SET status_since = '2026-01-01' WHERE id = ANY(%s)", (made[:4],))
    pages = all_pages(lambda after: queries.threads(workspace=workspace, limit=4, after=after))
    assert [len(page) for page in pages[:-1]] == [4] * (len(pages) - 1)
    assert len(pages[-1]) == (n_threads % 4 or min(n_threads, 4))
    results = [row.id for page in pages for row in page]
    expected = rows("SELECT id FROM gp_thread ORDER BY status_since DESC, id DESC")
    assert results == [ident for (ident,) in expected]


def test_a_thread_that_moves_while_somebody_reads_on_does_not_shift_the_pages() -> None:
    workspace = make_workspace()
    made = [make_thread(workspace=workspace) for _ in range(6)]
    first = queries.threads(workspace=workspace, limit=3)
    acquired(made[0])  # comes to the top
    make_thread(workspace=workspace)
    second = queries.threads(workspace=workspace, limit=3, after=first.next_cursor)
    assert [row.id for row in first.rows] == made[:2:-1]
    assert [row.id for row in second.rows] == [made[2], made[1]]


@pytest.mark.parametrize(
    "cursor", ["x", "!!!", "é", "AAAA", "MjAyNi0wMS0wMQ", "bm93IHRoZW4", "MjAyNiB4", "=" * 50]
)
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        queries.threads(workspace=make_workspace(), after=cursor)
    assert caught.value.path == "cursor"


def test_threads_are_found_by_status_agent_label_and_text_in_their_workspace_only() -> None:
    workspace, other = make_workspace(), make_workspace()
    quick, slow = make_agent("quick"), make_agent("slow")
    a = make_thread(workspace=workspace, agent=quick, title="Tides of 2013", labels={"team": "a"})
    b = make_thread(workspace=workspace, agent=slow, title="100% of it", labels={"team": "b"})
    make_thread(workspace=other, agent=quick, title="Tides elsewhere", labels={"team": "a"})
    bring_to(b, Status.WAITING)

    def matches(**more: Any) -> set[UUID]:
        selection = queries.Selection(**more)
        return {row.id for row in queries.threads(selection, workspace=workspace).rows}

    assert matches() == {a, b}
    assert matches(statuses=[Status.WAITING]) == {b}
    assert matches(statuses=[Status.WAITING, Status.QUEUED]) == {a, b}
    assert matches(agent="quick") == {a}
    assert matches(label=("team", "b")) == {b}
    assert matches(q="tides") == {a}
    assert matches(q="100%") == {b}
    assert matches(q="_") == set()
    assert matches(q=str(a)[:30]) == {a}
    assert matches(q="tides", statuses=[Status.WAITING]) == set()
    for text in ("a\0b", "\ud800"):
        with pytest.raises(InvalidValue):
            matches(q=text)
        with pytest.raises(InvalidValue):
            matches(agent=text)
    with pytest.raises(NotFound):
        queries.thread(a, workspace=other)
    counts = queries.counts(workspace=workspace)
    assert set(counts) == set(Status)
    assert {s: n for s, n in counts.items() if n} == {Status.QUEUED: 1, Status.WAITING: 1}


def test_checkpoints_and_events_come_in_pages_newest_first() -> None:
    thread = make_thread()
    driver = drive(thread, 11)
    driver.step(events=[NewEvent(K.THOUGHT_RECORDED, {"text": "so"}, "worker:1")])
    store.pause(thread, actor=OPERATOR)
    numbers = [
        row.number
        for page in all_pages(
            lambda after: queries.checkpoints(thread, limit=4, before=int(after) if after else None)
        )
        for row in page
    ]
    assert numbers == list(range(12, -1, -1))
    seqs = [
        row.seq
        for page in all_pages(
            lambda after: queries.events(thread, limit=4, before=int(after) if after else None)
        )
        for row in page
    ]
    assert seqs == list(range(16, 0, -1))
    read, seq = [], 0
    while batch := queries.events_after(thread, seq, limit=5):
        read += [row.seq for row in batch]
        seq = batch[-1].seq
    assert read == list(range(1, 17))
    assert [e.kind for e in queries.events(thread, kinds=["pause", "thought"]).rows] == [
        "pause.requested", "thought.recorded",
    ]  # fmt: skip
    assert [e.seq for e in queries.events(thread, kinds=["thread.started"]).rows] == [1]
    assert queries.event_kinds(thread) == {
        "checkpoint.committed": 12, "lease.acquired": 1, "pause.requested": 1,
        "thought.recorded": 1, "thread.started": 1,
    }  # fmt: skip


# --- the way ----------------------------------------------------------------------------------


def rolled_back(thread: UUID, number: int) -> Driver:
    """Back to checkpoint `number`, and a worker on it again."""
    store.roll_back(
        thread, checkpoint=numbered(thread, number), undo=(), reason="", actor=OPERATOR,
        head=head_of(thread),
    )  # fmt: skip
    Driver(acquired(thread)).finish_rollback(run_on=True)
    return Driver(acquired(thread))


def test_the_way_goes_through_branches_and_bases_and_marks_what_lies_beside_it() -> None:
    base = make_thread()
    drive(base, 5)  # 0-5 on branch 0
    driver = rolled_back(base, 3)  # 6 on branch 1, from 3
    for _ in range(2):
        driver.step()  # 7, 8
    driver = rolled_back(base, 7)  # 9 on branch 2, from 7
    driver.step()  # 10
    assert queries.branch_ranges(base, head_of(base)) == [
        (base, 2, 9, 10, 5), (base, 1, 6, 7, 4), (base, 0, 0, 3, 3),
    ]  # fmt: skip
    assert queries.branch_ranges(base, numbered(base, 5)) == [(base, 0, 0, 5, 5)]
    abandoned = {row.number for row in queries.checkpoints(base).rows if row.abandoned}
    assert abandoned == {4, 5, 8}

    fork = store.fork(base, checkpoint=numbered(base, 9), changes={}, actor=OPERATOR)
    drive(fork, 2)
    nested = store.fork(fork, checkpoint=numbered(fork, 1), changes={}, actor=OPERATOR)
    drive(nested, 1)
    expected = [(nested, 1), (nested, 0), (fork, 1), (fork, 0), (base, 9), (base, 7), (base, 6)]
    expected += [(base, number) for number in (3, 2, 1, 0)]
    assert [(row.thread, row.number) for row in queries.lineage(nested)] == expected
    assert [(row.thread, row.number) for row in queries.lineage(nested, limit=4)] == expected[:4]
    assert [row.number for row in queries.lineage(base)] == list(range(10, -1, -1))
    with pytest.raises(NotFound):
        queries.checkpoint(nested, numbered(base, 1))
    with pytest.raises(NotFound):
        queries.state_at(nested, numbered(base, 1))


def test_effects_after_a_checkpoint_follow_the_way_of_the_head() -> None:
    thread = make_thread()
    driver = drive(thread, 1)  # effects below are of steps 2, 3 ... of branch 0
    saved = effect(driver.work, "send#0", undo="unsend")
    driver.step()
    effect(driver.work, "send#1", undo="unsend")  # of step 3: left behind by the rollback
    driver.step()
    driver = rolled_back(thread, 2)
    stays = effect(driver.work, "mail#0")  # step 3 of branch 1
    store.record_activity(driver.work, new_activity(driver.work, "load#0"), result=1)
    driver.step()
    failed = effect(driver.work, "call#0", undo="uncall", state="failed")
    unknown = effect(driver.work, "pay#0", undo="refund", state="unknown")
    driver.step()
    open_ = effect(driver.work, "publish#0", undo="unpublish", state="started")

    def fates(number: int) -> list[tuple[UUID, str]]:
        result = queries.effects_after(thread, numbered(thread, number))
        return [(fate.activity.id, fate.fate) for fate in result]

    newest = [(open_, "unknown"), (unknown, "unknown")]
    assert failed not in [ident for ident, _ in fates(0)]
    assert fates(1) == fates(0) == [*newest, (stays, "stays"), (saved, "undoable")]
    assert fates(2) == [*newest, (stays, "stays")]
    assert fates(4) == [*newest, (stays, "stays")]  # where the rollback ended
    assert fates(5) == newest
    assert fates(6) == [(open_, "unknown")]

    # An edit keeps the step: what happened in it is before the one and after the other.
    store.finish_activity(
        driver.work, new_activity(driver.work, "x#0", id=open_), state="done", result=1
    )
    store.leave(driver.work, K.THREAD_PAUSED)
    store.edit(thread, changes={"total": 1}, reason="", actor=OPERATOR)
    assert fates(6) == fates(7) == [(open_, "undoable")]

    # A fork has effects of its own only.
    fork = store.fork(thread, checkpoint=numbered(thread, 5), changes={}, actor=OPERATOR)
    forked = drive(fork)
    own = effect(forked.work, "send#0", undo="unsend")
    result = queries.effects_after(fork, numbered(fork, 0))
    assert [fate.activity.id for fate in result] == [own]


def test_what_changed_between_two_states() -> None:
    old = {"log": [1, 2], "total": 1, "gone": None}
    new = {"log": [1, 2, 3], "total": 2, "facts": {}}
    diff = queries.diff(old, new)
    assert {op["path"]: op["op"] for op in diff} == {
        "/log/2": "add", "/total": "replace", "/gone": "remove", "/facts": "add",
    }  # fmt: skip
    assert queries.diff(new, new) == []


# --- what it costs ----------------------------------------------------------------------------


def test_reads_are_one_statement_each(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    driver = drive(thread, 30)
    store.write_keyframe(thread, 20, driver.state)
    driver = rolled_back(thread, 25)
    driver.step()
    head = head_of(thread)
    for read in (
        lambda: queries.state_at(thread, head),
        lambda: queries.thread(thread, workspace=workspace),
        lambda: queries.threads(workspace=workspace),
        lambda: queries.events_after(thread, 0),
        lambda: queries.events(thread),
        lambda: queries.activities(thread),
        lambda: queries.counts(workspace=workspace),
        lambda: queries.branch_ranges(thread, head),
        lambda: queries.checkpoint(thread, head),
    ):
        with django_assert_num_queries(1):
            read()


def test_what_is_not_there_is_not_found() -> None:
    thread = make_thread()
    for read in (
        lambda: queries.state_at(thread, uuid4()),
        lambda: queries.state_at(uuid4(), head_of(thread)),
        lambda: queries.checkpoint(thread, uuid4()),
        lambda: queries.checkpoint_by_number(thread, 1),
        lambda: queries.activity(uuid4()),
        lambda: queries.agent("nobody"),
        lambda: queries.agent_version(uuid4()),
        lambda: queries.artifact("0" * 64, workspace=make_workspace()),
    ):
        with pytest.raises(NotFound):
            read()
    assert queries.events_after(uuid4(), 0) == []
    assert queries.lineage(uuid4()) == []
