"""Which policies would hold which tools of an agent, and what no policy can hold; reads only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from checkpoints import queries as ground
from checkpoints.views import AgentRow

from . import queries
from .built_in_tools import BUILT_IN
from .conditions import Unanswered, condition, literals, refusal, subject_of
from .queries import VersionRow

WATCHED: Final = "the agent is watched: it reports what it did, and waits for nobody"
NAMED_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Holding:
    """An active policy that would ask about calls of a tool, or block them."""

    policy: UUID
    name: str
    when: Literal["always", "depends on the call"]
    blocks: Annotated[bool, Field(description="It refuses the calls, and nobody is asked.")] = False

    @property
    def words(self) -> str:
        """All of it in a few words."""
        how = "blocks, " if self.blocks else ""
        return f"{self.name} ({how}{self.when})"


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that the agent announces, and what holds it."""

    tool: str
    undo: Annotated[str, Field(description="What undoes a call; empty: it cannot be undone.")]
    holdings: Annotated[
        tuple[Holding, ...],
        Field(description="Those that block first, the others in the order of the policies."),
    ]
    escapes: Annotated[str, Field(description="Why no policy can hold it; empty where one can.")]

    @property
    def words(self) -> str:
        """All of it in one line."""
        if self.escapes:
            return f"No policy can hold it: {self.escapes}."
        shown = ", ".join(one.words for one in self.holdings)
        return shown or "No active policy asks about it or blocks it."


def held_tools(agent: AgentRow, *, workspace: UUID) -> list[HeldTool]:
    """List the tools that an agent announces, by name, with the active policies on them."""
    active = queries.active(workspace)
    escapes = _escapes(agent)
    return [
        HeldTool(
            name,
            str(tool.get("undo") or ""),
            () if escapes else _holdings(active, agent, name, str(tool.get("undo") or "")),
            escapes,
        )
        for name, tool in sorted(agent.tools.items())
    ]


def escapes_of(row: VersionRow) -> list[str]:
    """Say who escapes a policy: names in it that nobody announces, and agents that are watched."""
    if refusal(row.condition):
        return []
    agents = ground.agents(workspace=row.workspace)
    named = literals(row.condition)
    result = _unannounced(agents, named)
    return (result + list(_watched(agents, row, named.get("agent", ()))))[:NAMED_MAX]


def unannounced_names(condition_text: str, *, workspace: UUID) -> list[str]:
    """Warn of names in a condition that nobody announces, each with the name that it may mean."""
    return _unannounced(ground.agents(workspace=workspace), literals(condition_text))[:NAMED_MAX]


def _unannounced(agents: Sequence[AgentRow], named: Mapping[str, Sequence[str]]) -> list[str]:
    known = {
        "agent": {one.agent for one in agents},
        "tool": BUILT_IN | {tool for one in agents for tool in one.tools},
        "node": {str(node["name"]) for one in agents for node in one.graph.get("nodes", ())},
    }
    return [
        f"No agent announces the {what} {name!r}.{_nearest(name, known[what])} It is held once one "
        "does, and only by this very name."
        for what in ("agent", "tool", "node")
        for name in named.get(what, ())
        if name not in known[what]
    ]


def _nearest(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.7)
    return f" Did you mean {close[0]!r}?" if close else ""


def _watched(agents: Sequence[AgentRow], row: VersionRow, named: Sequence[str]) -> Iterable[str]:
    for agent in agents:
        if not _escapes(agent) or (named and agent.agent not in named):
            continue
        tools = [
            name
            for name, tool in sorted(agent.tools.items())
            if _holdings([row], agent, name, str(tool.get("undo") or ""))
        ]
        if tools or subject_of(row.condition) == "node":
            what = f" ({', '.join(tools)})" if tools else ""
            yield f"Agent {agent.agent!r}{what}: {WATCHED}."


def _escapes(agent: AgentRow) -> str:
    external = agent.external
    return WATCHED if external is not None and external.watched else ""


def _holdings(
    active: Sequence[VersionRow], agent: AgentRow, tool: str, undo: str
) -> tuple[Holding, ...]:
    """The policies that block a tool or ask about it, up to the first that decides each call.

    Those that block come first, as they do for a call; the others in order.
    """
    # What differs from call to call is left out, so a condition that needs it has no answer.
    values = {
        "tool": tool,
        "agent": agent.agent,
        "undo": "tool" if undo else "none",
        "operation": "",
        "node": "",
    }
    result = []
    for row in sorted(active, key=lambda row: row.action != "block"):
        if subject_of(row.condition) != "effect":
            continue
        when: Literal["always", "depends on the call"] = "always"
        is_refused = bool(refusal(row.condition))
        try:
            if is_refused:
                if row.action == "allow":
                    continue
            elif not condition(row.condition).holds(values):
                continue
        except Unanswered:
            when = "depends on the call"
        blocks = row.action == "block" and not is_refused  # a refused one asks meanwhile
        if row.action != "allow":
            result.append(Holding(row.policy, row.name, when, blocks))
        if when == "always" and (blocks or row.action != "block"):
            break
    return tuple(result)
