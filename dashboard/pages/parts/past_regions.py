"""The regions of a thread's page that list its past: lineage, forks, save points, events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.drawing import lineage
from dashboard.pages.rights import Roles

if TYPE_CHECKING:
    from dashboard.pages.thread import ThreadPage

CHECKPOINTS = 200  # read for the plan and the graph
ROWS = 30  # of them shown, as segments of the bar of time and as rows of the lineage


def thread_lineage(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-lineage."""
    drawn = lineage.layout(
        page.rows,
        thread=page.thread,
        selected=page.past.id if page.past else None,
        forked_at={fork.forked_from for fork in page.forks if fork.forked_from},
        times=page.times,
        limit=ROWS,
        tip=page.tip,
    )
    cut = len(page.rows) >= CHECKPOINTS
    return {"thread": page.thread, "lineage": drawn, "lineage_cut": cut, "past": page.past}


def thread_forks(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-forks."""
    return {"thread": page.thread, "forks": page.forks}


def thread_activities(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-activities."""
    return {"thread": page.thread, "activities": page.activities, "past": page.past}


def thread_events(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-events."""
    return {
        "thread": page.thread,
        "events": page.events.rows,
        "kinds": page.kinds,
        "opened": page.event,
        "people": page.people,
        "events_cursor": page.events.next_cursor,
        "events_query": {"cp": page.past and page.past.id, "kind": page.kind or None},
        "filtered": bool(page.kind or page.past)
        or page.before is not None
        or page.event is not None,
        "step_events": page.step_events,
        "past": page.past,
    }
