"""Keyset pages: every row once, in order, whatever the page size, the window and the filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.admin.paging import XID, BadCursor, RowPage, Walk, read_page
from checkpoints.models import Event, Thread
from tests.unit.checkpoints.builders import drive, make_thread, make_workspace, rows

pytestmark = pytest.mark.django_db
FEED = Walk((XID, "thread_id", "seq"))
OF_THREAD = Walk(("seq",), ("thread_id",))


@pytest.fixture
def events(db: None) -> int:
    """Some threads with some events each."""
    workspace = make_workspace()
    for _ in range(4):
        drive(make_thread(workspace=workspace), 6)
    return int(rows("SELECT count(*) FROM gp_event")[0][0])


def all_pages(wanted: Any, walk: Walk, **sizes: int) -> Iterator[RowPage]:
    """From the first page on, as long as there is one further."""
    cursor = ""
    for _ in range(500):
        page = read_page(Event.objects.all(), wanted, walk, cursor, **sizes)
        yield page
        cursor = page.older
        if not cursor:
            return
    raise AssertionError("the pages do not end")


def keys(pages: Any) -> list[tuple[Any, int]]:
    return [(row.thread_id, row.seq) for page in pages for row in page.rows]


@pytest.mark.nightly
def test_pages_hold_every_row_once_in_order(events: int) -> None:
    expected = rows(
        "SELECT thread_id, seq FROM gp_event ORDER BY xid8 DESC, thread_id DESC, seq DESC"
    )

    @given(size=st.integers(1, 40), window=st.integers(1, 60), some=st.booleans())
    @settings(max_examples=25, database=None)
    def walk_all(size: int, window: int, some: bool) -> None:
        wanted = Event.objects.filter(kind="checkpoint.committed") if some else Event.objects.all()
        known = set(wanted.values_list("thread_id", "seq"))
        pages = list(all_pages(wanted, FEED, rows=size, window=window))
        assert keys(pages) == [key for key in expected if key in known]
        assert all(len(page.rows) <= size for page in pages)
        assert pages[-1].searched_all

    walk_all()


def test_the_way_back_leads_to_the_rows_before(events: int) -> None:
    wanted = Event.objects.filter(kind__in=("checkpoint.committed", "thread.started"))
    for size, window in ((3, 1000), (5, 4), (7, 11)):
        pages = list(all_pages(wanted, FEED, rows=size, window=window))
        every = keys(pages)
        assert pages[0].newer == ""
        went_back = 0
        for page in pages[1:]:
            if not page.rows:
                continue
            back = read_page(
                Event.objects.all(), wanted, FEED, page.newer, rows=size, window=window
            )
            index = every.index(keys([page])[0])
            result = keys([back])
            if back.newer:
                assert result == every[index - len(result) : index]
            else:
                assert back.rows == pages[0].rows
            went_back += len(result)
        assert went_back >= size


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "-",
        "-x",
        "%00",
        "é",
        "bnVsbA",  # null
        "W10",  # []
        "WzFd",  # [1]
        "WyIxIiwgIjIiLCAiMyJd",  # three that are no key
        "W251bGwsIG51bGwsIG51bGxd",  # three nulls
        "WzEsICIwMWEyMDEwZS1iZjFmLTc0NjItOTY5OC03NzFiNzg0ZWI4YzAiLCAxZTk5OTldZZ",
        "WzE4NDQ2NzQ0MDczNzA5NTUxNjE3LCAiMDFhMjAxMGUtYmYxZi03NDYyLTk2OTgtNzcxYjc4NGViOGMwIiwgMV0",
        "WzEsICIwMWEyMDEwZS1iZjFmLTc0NjItOTY5OC03NzFiNzg0ZWI4YzAiLCA5OTk5OTk5OTk5OTk5OTk5OTk5OTld",
        "W" * 4000,
    ],
)
def test_a_cursor_that_is_none_is_refused(db: None, cursor: str) -> None:
    with pytest.raises(BadCursor):
        read_page(Event.objects.all(), Event.objects.all(), FEED, cursor)


def test_an_empty_list_has_one_empty_page(db: None) -> None:
    walk = Walk(("status_since", "id"), ("workspace_id",))
    assert read_page(Thread.objects.all(), Thread.objects.all(), walk) == RowPage(
        (), "", "", 0, True
    )
