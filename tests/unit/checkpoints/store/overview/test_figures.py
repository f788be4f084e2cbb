"""Figures by hour and day are added up from the first thing that counts in a workspace on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from checkpoints.queries.overview.figures import DAY, HOUR, midnight
from checkpoints.store.installation.imported_figures import note_figures
from tests.unit.checkpoints.builders import make_thread, make_workspace, one, rows

pytestmark = pytest.mark.django_db


def day(ago: int) -> datetime:
    """The beginning of the day so many days ago (UTC)."""
    return midnight(datetime.now(UTC).date()) - timedelta(days=ago)


def begun(workspace: UUID, days_ago: int) -> UUID:
    """A thread that was started so many days ago, at noon."""
    thread = make_thread(workspace=workspace)
    rows(
        "UPDATE gp_thread SET created_at = %s::timestamptz WHERE id = %s::uuid RETURNING 1",
        (day(days_ago) + timedelta(hours=12), thread),
    )
    return thread


def fold_all() -> None:
    while store.fold_due():
        pass


def units(workspace: UUID, unit: str) -> list[datetime]:
    return [
        at
        for (at,) in rows(
            "SELECT at FROM gp_folded_unit WHERE workspace_id = %s AND unit = %s ORDER BY at",
            (workspace, unit),
        )
    ]


def started(workspace: UUID, unit: str = DAY) -> dict[int, int]:
    """{days ago: threads that were started then}, as the overview reads it."""
    low, high = day(60), day(-1)
    rows_read = queries.figures(workspace=workspace, low=low, high=high, unit=unit)
    return {(day(0) - row.at).days: row.n for row in rows_read if row.figure == "started"}


def test_a_new_workspace_has_nothing_to_add_up() -> None:
    workspace = make_workspace()
    with CaptureQueriesContext(connection) as sent:
        assert store.fold_due() == 0
    assert len(sent) == 1
    assert units(workspace, DAY) == units(workspace, HOUR) == []
    # Nor is anything counted for who looks.
    with CaptureQueriesContext(connection) as sent:
        assert started(workspace) == started(workspace, HOUR) == {}
    assert len(sent) == 2


def test_days_are_added_up_from_that_of_the_first_event_on() -> None:
    workspace = make_workspace()
    begun(workspace, 3)
    fold_all()
    assert units(workspace, DAY) == [day(n) for n in (3, 2, 1)]
    assert started(workspace) == {3: 1}
    # Read and not counted once more.
    rows("UPDATE gp_figure SET n = 7 WHERE workspace_id = %s RETURNING 1", (workspace,))
    assert started(workspace) == {3: 7}


def test_what_is_brought_in_from_before_moves_the_beginning() -> None:
    workspace = make_workspace()
    begun(workspace, 3)
    fold_all()
    begun(workspace, 40)
    assert started(workspace) == {40: 1, 3: 1}
    fold_all()
    assert units(workspace, DAY) == [day(n) for n in range(40, 0, -1)]
    assert started(workspace) == {40: 1, 3: 1}


def test_what_is_brought_in_between_is_added_up_though_its_day_was() -> None:
    workspace = make_workspace()
    begun(workspace, 50)
    fold_all()
    thread = begun(workspace, 45)  # no day of that age is renewed by itself
    fold_all()
    assert started(workspace) == {50: 1}
    note_figures(thread, workspace=workspace)
    noted = "SELECT count(*) FROM gp_figure_change WHERE workspace_id = %s AND unit = %s"
    assert one(noted, (workspace, DAY)) >= 2  # its begin, and its status since a moment ago
    fold_all()
    assert started(workspace) == {50: 1, 45: 1}
    assert one(f"{noted} AND at < %s", (workspace, DAY, day(0))) == 0


@pytest.mark.parametrize("column", ["created_at", "status_since"])
def test_each_time_of_a_thread_may_be_the_first(column: str) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    rows(
        f"UPDATE gp_thread SET {column} = {column} - interval '2 days' "
        "WHERE id = %s::uuid RETURNING 1",
        (thread,),
    )
    fold_all()
    assert len(units(workspace, DAY)) == 2
