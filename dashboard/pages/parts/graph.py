"""The regions of a thread's page that show its agent's graph: the plan and the picture."""

from __future__ import annotations

from typing import Any

from checkpoints.states import FINISHED, Status
from dashboard.drawing import graphs

type Roles = frozenset[str]


def thread_plan(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-plan."""
    return {
        "thread": page.thread,
        "plan": graphs.plan(page.version.graph, page.path, current=_current(page)),
        "past": page.past,
    }


def thread_graph(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-graph."""
    return {
        "thread": page.thread,
        "graph": graphs.picture(
            page.version.graph,
            page.path,
            current=_current(page),
            finished=page.thread.status == Status.SUCCEEDED and not page.past,
        ),
        "past": page.past,
    }


def _current(page: Any) -> tuple[str, ...]:
    """The nodes that are worked or waited on at the shown checkpoint."""
    nodes: tuple[str, ...] = page.thread.next_nodes
    if page.past:
        nodes = page.past.next_nodes
    elif page.thread.status in FINISHED - {Status.FAILED}:
        nodes = ()
    return nodes
