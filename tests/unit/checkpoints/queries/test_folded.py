"""A long activity keeps many cursors: lists of events show of some in a row the newest."""

from __future__ import annotations

from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries

from checkpoints import queries, store
from checkpoints.queries import event_log
from tests.unit.checkpoints.builders import drive, make_thread, new_activity, rows

pytestmark = pytest.mark.django_db


def saved_thread(times: int) -> UUID:
    thread = make_thread()
    work = drive(thread, 1).work
    activity = new_activity(work, "look#0")
    for n in range(times):
        store.keep_cursor(work, activity, cursor=b'{"page":%d}' % n)
    store.record_activity(work, activity, result=1)
    store.keep_cursor(work, new_activity(work, "look#1"), cursor=b"1")
    return thread


def test_cursors_in_a_row_are_one_line() -> None:
    thread = saved_thread(7)
    every = [e.kind for e in queries.events(thread).rows]
    assert every.count("cursor.kept") == 8
    page = queries.events(thread, folded=True)
    shown = [e.kind for e in page.rows]
    assert shown[:3] == ["cursor.kept", "activity.finished", "cursor.kept"]
    assert shown.count("cursor.kept") == 2
    assert [k for k in shown if k != "cursor.kept"] == [k for k in every if k != "cursor.kept"]
    assert page.rows[2].seq == page.rows[1].seq - 1, "the newest of them"
    assert queries.events(thread, kinds=["cursor"], folded=True).rows[7].kind == "cursor.kept"


def test_the_search_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = saved_thread(30)
    monkeypatch.setattr(event_log, "SEARCHED", 10)
    seen: list[int] = []
    before = None
    for _ in range(20):
        page = queries.events(thread, folded=True, before=before, limit=3)
        seen += [e.seq for e in page.rows]
        if not page.next_cursor:
            break
        before = int(page.next_cursor)
    every = queries.events(thread, limit=200).rows
    alone = [e.seq for e in every if e.kind != "cursor.kept"]
    assert [seq for seq in seen if seq in alone] == alone
    assert len(seen) == len(set(seen)) == len(alone) + 2


def test_the_board_tells_of_no_cursors() -> None:
    thread = saved_thread(12)
    ((workspace,),) = rows("SELECT workspace_id FROM gp_thread WHERE id = %s", [thread])
    kinds = [e.kind for e in queries.recent_events(workspace=workspace)]
    assert "activity.finished" in kinds
    assert "cursor.kept" not in kinds


def test_a_page_without_cursors_is_one_query_and_a_long_row_of_them_a_few(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    thread = make_thread()
    driver = drive(thread, 60)
    with django_assert_num_queries(1):
        page = queries.events(thread, folded=True)
    assert page == queries.events(thread)
    for number in range(400):
        store.keep_cursor(driver.work, new_activity(driver.work, "look#0"), cursor=b"%d" % number)
    with django_assert_num_queries(3):
        page = queries.events(thread, folded=True)
    assert len(page.rows) == 50
    assert [e.kind for e in page.rows].count("cursor.kept") == 1
    again = queries.events(thread, before=page.rows[0].seq - 17, folded=True)
    assert "cursor.kept" not in [e.kind for e in again.rows], "in the middle of them"
