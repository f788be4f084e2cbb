"""Policies whose condition the reader of conditions takes no longer, as after an upgrade."""

from __future__ import annotations

from collections.abc import Iterator

from approvals.policies import queries as queries_policies
from approvals.policies.conditions import refusal

from .findings import Finding, Seen, ok, wrong

NAMED = 5


def conditions(seen: Seen) -> Iterator[Finding]:
    """Every active policy still says when it holds; one that does not asks about everything."""
    rows = queries_policies.active_everywhere()
    refused = [(row, why) for row in rows if (why := refusal(row.condition))]
    for row, why in refused[:NAMED]:
        meanwhile = "asks about each action" if row.action == "ask" else "allows nothing"
        yield wrong(
            f"policy “{row.name}”",
            f"{why}; it {meanwhile} meanwhile",
            f"Change its condition: Records, Policies, or /admin/policies/{row.policy}/.",
        )
    if len(refused) > NAMED:
        yield wrong("policies", f"{len(refused):,} in all", "Look at Records, Policies.")
    if not refused:
        yield ok("policies", f"{len(rows):,} active, each condition is taken")
