"""Names that would be refused today, from before the rule: of agents and their parts, of MCP tools
and of saved views."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints import queries
from checkpoints.names import escaped, name_fault
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.views import AgentRow

from .findings import Finding, Seen, ok, warning

NAMED = 5
# By what it names: names that are not plain ASCII.
PLAIN = "^[!-~]([ -~]*[!-~])?$"
OTHERS = {
    "an MCP tool": "SELECT name FROM gp_mcp_tool WHERE accepted IS NOT NULL "
    "AND name !~ %s::text LIMIT 1000",
    "a saved view": "SELECT name FROM gp_saved_view WHERE name !~ %s::text LIMIT 1000",
}


def plain(seen: Seen) -> Iterator[Finding]:
    """Every name of the newest version of each agent is one that people can distinguish."""
    newest: dict[str, AgentRow] = {}
    for row in queries.agent_versions():
        if row.agent not in newest or row.created_at > newest[row.agent].created_at:
            newest[row.agent] = row
    faulty = [
        (agent, name, fault)
        for agent, row in sorted(newest.items())
        for name in _names(row)
        if (fault := name_fault(name))
    ]
    for agent, name, fault in faulty[:NAMED]:
        yield warning(
            f"name {escaped(name)}",
            f"of the agent {escaped(agent)}: it {fault}",
            "Rename it in its code. A policy that names what it looks like holds it meanwhile.",
        )
    if len(faulty) > NAMED:
        yield warning("names", f"{len(faulty):,} in all", "Rename them in the code of the agents.")
    others = [(what, name) for what, name in _others() if name_fault(name)]
    for what, name in others[:NAMED]:
        yield warning(
            f"name {escaped(name)}", f"of {what}: it {name_fault(name)}", "Choose another name."
        )
    if not faulty and not others:
        yield ok("names", f"{len(newest):,} agents, each with plain names")


def _others() -> Iterator[tuple[str, str]]:
    """(what, name) of what else people distinguish by names that are not plain ASCII."""
    for what, sql in OTHERS.items():
        for row in fetch_named(sql, (PLAIN,)):
            yield what, row.name


def _names(row: AgentRow) -> list[str]:
    nodes = [node["name"] for node in row.graph.get("nodes", [])]
    return [row.agent, *nodes, *row.tools, *row.channels]
