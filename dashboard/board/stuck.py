"""Stuck threads above the board: how many by agent and node, each a click away."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from checkpoints import queries
from dashboard.fields.shapes import StuckGroup

SHOWN = 6  # groups beside their sum


def board_stuck(counts: queries.StuckCounts) -> dict[str, Any]:
    """The largest groups, and how many are left out."""
    groups = counts.groups
    return {
        "stuck": counts.total,
        "stuck_groups": [
            StuckGroup(one.agent, one.node, one.threads, _address(one.agent, one.node))
            for one in groups[:SHOWN]
        ],
        "stuck_more": len(groups[SHOWN:]),
    }


def _address(agent: str, node: str) -> str:
    # One that stands at no node: the nearest that the query can say is its agent's.
    where = queries.Term("stuck", (node,)) if node else queries.Term("has", ("stuck",))
    query = queries.Query((queries.Term("agent", (agent,)), where))
    return f"?{urlencode({'q': str(query)})}"
