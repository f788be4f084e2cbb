"""The regions of a thread's page that show its agent's graph: the plan and the picture."""

from __future__ import annotations

from typing import Any

from checkpoints.states import FINISHED, Status
from dashboard.drawing import graphs
from dashboard.drawing.summary import response_awaited, summarise

type Roles = frozenset[str]


def thread_plan(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-plan."""
    return {
        "thread": page.thread,
        "plan": graphs.plan(page.version.graph, page.path, current=_current(page)),
        "past": page.past,
    }


def thread_summary(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-summary."""
    # Of a cancelled thread, too, it is said which step did not happen any more.
    current = page.thread.next_nodes if page.thread.status == Status.CANCELLED else _current(page)
    current = page.past.next_nodes if page.past else current
    response = response_awaited(
        page.activities,
        branch=page.thread.branch,
        step=page.thread.step + 1,
        headlines=[approval.headline for approval in page.approvals],
        why=page.why.kind if page.why else "",
    )
    return {
        "thread": page.thread,
        "summary": summarise(
            graphs.plan(page.version.graph, page.path, current=current),
            status=page.thread.status,
            current=current,
            past=page.past is not None,
            response=response,
        ),
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
