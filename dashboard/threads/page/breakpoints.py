"""The nodes before which a thread can be stopped."""

from __future__ import annotations

from typing import Any

from checkpoints.states import STOPS_AHEAD, Status
from dashboard.html import graphs
from dashboard.identity.permissions import may
from dashboard.threads.page.rights import Class, Roles
from dashboard.threads.page.thread import ThreadPage


def thread_stop(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-stop."""
    thread = page.thread
    possible = may(Class(roles), "pause") and thread.status in STOPS_AHEAD and not page.past
    graph = page.version.graph
    # What is being worked on can no longer be stopped before; what is queued has not begun.
    begun = thread.status != Status.QUEUED
    ahead = graphs.ahead(graph, thread.next_nodes, begun=begun) if possible else frozenset()
    return {
        "thread": thread,
        "past": page.past,
        "stops": [
            (node["name"], node.get("label") or node["name"])
            for node in graph.get("nodes", [])
            if node["name"] in ahead
        ],
    }
