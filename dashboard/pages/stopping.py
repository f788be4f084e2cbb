"""The nodes before which a thread can be told to stop."""

from __future__ import annotations

from typing import Any

from checkpoints.states import STOPS_AHEAD
from dashboard.permissions import may

from .rights import Class, Roles
from .thread import ThreadPage


def thread_stop(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-stop."""
    possible = may(Class(roles), "pause") and page.thread.status in STOPS_AHEAD
    nodes = page.version.graph.get("nodes", []) if possible else []
    return {
        "thread": page.thread,
        "stops": [(node["name"], node.get("label") or node["name"]) for node in nodes],
    }
