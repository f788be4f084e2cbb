"""MCP servers that are no longer called: their address or credential is against the rule."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.gateway.registry import queries
from dashboard.gateway.registry.refusals import refusal

from .findings import Finding, Seen, ok, wrong

NAMED = 5


def called(_seen: Seen) -> Iterator[Finding]:
    """Every active server may be called with what its row says."""
    rows = queries.active_everywhere()
    refused = [(row, why) for row in rows if (why := refusal(row))]
    for row, why in refused[:NAMED]:
        yield wrong(
            f"MCP server “{row.name}”",
            why.rstrip("."),
            f"Change it under Records, MCP servers, or list it: docs/howto/mcp-gateway.md "
            f"(workspace {row.workspace}).",
        )
    if len(refused) > NAMED:
        yield wrong("MCP servers", f"{len(refused):,} in all", "Look at Records, MCP servers.")
    if not refused:
        yield ok("MCP servers", f"{len(rows):,} active, each address and credential is allowed")
