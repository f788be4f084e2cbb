"""Policies whose condition is no longer taken, or allows on a claim, as after an upgrade."""

from __future__ import annotations

from collections.abc import Iterator

from approvals.policies import queries as queries_policies
from approvals.policies.conditions import claims, refusal

from .findings import Finding, Seen, ok, warning, wrong

NAMED = 5


def conditions(seen: Seen) -> Iterator[Finding]:
    """Every active policy still says when it holds; one that does not asks about everything."""
    rows = queries_policies.active_everywhere()
    refused = [(row, why) for row in rows if (why := refusal(row.condition))]
    for row, why in refused[:NAMED]:
        meanwhile = "allows nothing" if row.action == "allow" else "asks about each action"
        yield wrong(
            f"policy “{row.name}”",
            f"{why}; it {meanwhile} meanwhile",
            f"Change its condition: Records, Policies, or /admin/policies/{row.policy}/.",
        )
    if len(refused) > NAMED:
        yield wrong("policies", f"{len(refused):,} in all", "Look at Records, Policies.")
    claimed = [row for row in rows if row.action == "allow" and claims(row.condition)]
    for row in claimed[:NAMED]:
        yield warning(
            f"policy “{row.name}”",
            f"it would allow on {', '.join(claims(row.condition))}, which is only claimed; "
            "it asks meanwhile",
            f"Take the claim out of its condition: /admin/policies/{row.policy}/.",
        )
    if not refused and not claimed:
        yield ok("policies", f"{len(rows):,} active, each condition is taken")
