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
    terms = [queries.Term("agent", (agent,)), queries.Term("stuck", (node,))] if node else []
    query = queries.Query(tuple(terms or [queries.Term("has", ("stuck",))]))
    return f"?{urlencode({'q': str(query)})}"
