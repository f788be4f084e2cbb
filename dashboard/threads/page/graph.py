"""The regions of a thread's page that show its agent's graph: the plan and the picture."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from checkpoints import queries
from checkpoints.states import FINISHED, Status
from dashboard.html import graphs
from dashboard.html.summary import response_awaited, summarise
from workers.checking.source_calls import NodeCalls, calls_by_node

_NONE: Final = NodeCalls()
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
    # Of a cancelled thread, too, it is said which step did not happen.
    current = page.thread.next_nodes if page.thread.status == Status.CANCELLED else _current(page)
    current = page.past.next_nodes if page.past else current
    response = response_awaited(
        page.activities,
        branch=page.thread.branch,
        step=page.thread.step + 1,
        requests=len(page.approvals),
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
            steps=(page.past or page.thread).step,
        ),
        "past": page.past,
    }


@lru_cache(maxsize=128)
def _source_calls(version: UUID) -> dict[str, NodeCalls]:
    """External calls by node as an agent version's recorded code has them; it never changes."""
    return calls_by_node(queries.code_of_version(version))


def calls_of(page: Any) -> dict[str, NodeCalls]:
    """External calls by node: those in the code; of a node without any those in the log."""
    results = dict(_source_calls(page.version.id))
    for activity in page.activities:
        if activity.kind not in ("node", "value") and not results.get(activity.node, _NONE).guarded:
            known = results.get(activity.node, _NONE)
            called = ((activity.kind, activity.tool or activity.key),)
            results[activity.node] = NodeCalls(called, known.unguarded)
    return results


def thread_graph(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-graph."""
    calls = calls_of(page)
    return {
        "thread": page.thread,
        "graph": graphs.picture(
            page.version.graph,
            page.path,
            current=_current(page),
            finished=page.thread.status == Status.SUCCEEDED and not page.past,
            calls=calls,
        ),
        "outside": [(name, calls[name]) for name in sorted(calls) if calls[name] != _NONE],
        "cut": len(page.path) >= 200,
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
