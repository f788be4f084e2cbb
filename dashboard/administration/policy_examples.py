"""Conditions to begin with, written with the names that this workspace's agents announce."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from checkpoints import queries

_AMOUNTS: Final = ("amount", "total", "sum", "price")


def examples(workspace: UUID) -> list[tuple[str, str]]:
    """(what it holds, the condition) of each example."""
    agents = queries.agents(workspace=workspace)
    tools = {name: tool for one in agents for name, tool in sorted(one.tools.items())}
    tool = next((name for name, one in tools.items() if not one.get("undo")), "bank.pay")
    paid, value = next(
        (
            (name, f"args.{key}")
            for name, one in tools.items()
            for key in _AMOUNTS
            if key in ((one.get("schema") or {}).get("properties") or {})
        ),
        (tool, "args.total"),
    )
    agent = next((one.agent for one in agents if one.tools), "payments")
    return [
        ("What can’t be undone", "undo == 'none'"),
        ("One tool", f"tool == {tool!r}"),
        ("Large amounts", f"tool == {paid!r} && amount({value}) > 1000"),
        ("Everything one agent does", f"agent == {agent!r}"),
        ("Rollbacks by people", "operation == 'roll_back'"),
    ]


def tools_by_name(workspace: UUID) -> list[tuple[str, str]]:
    """(tool, the agents that announce it) of each tool that a condition can name."""
    agents: dict[str, list[str]] = {}
    for one in queries.agents(workspace=workspace):
        for name in one.tools:
            agents.setdefault(name, []).append(one.agent)
    return [(name, ", ".join(sorted(set(agents[name])))) for name in sorted(agents)]
