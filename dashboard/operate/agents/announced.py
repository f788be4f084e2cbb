"""Verbs of `agent`: what workers announced. Of these only `impact` imports agents' code here."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel

from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import AgentRow
from dashboard.documents.answer_json import with_more
from dashboard.errors import Missing
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import facts, table
from dashboard.threads.thread_shapes import AgentDetail
from dashboard.wording.durabilities import durability_words

from .check import check, check_options
from .impact import impact, impact_options


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInUse(AgentRow):
    """An agent version, and how many unfinished threads of each status stand on it."""

    threads: dict[str, int]

    @classmethod
    def of(cls, row: AgentRow, counted: dict[Status, int]) -> Self:
        """A row with its threads."""
        return with_more(cls, row, threads={str(s): n for s, n in counted.items()})


class AgentsInUse(BaseModel):
    """Agent versions by name, newest first."""

    results: list[AgentInUse]


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also old versions that no thread uses")


def list_agents(command: PersonalCommand) -> None:
    """Announced versions with their workers and threads."""
    actor = command.actor("read")
    counted = queries.version_threads(workspace=actor.workspace)
    rows = queries.agent_versions()
    if not command.options["all"]:
        rows = list(_in_use(rows, counted))
    columns = (
        "agent",
        "version",
        "code",
        "schema",
        "durability",
        "queue",
        "workers",
        "unfinished",
        "waiting",
    )
    shown = (
        (
            row.agent,
            row.version,
            row.fingerprint[:12],
            row.schema_version,
            row.durability,
            row.queue,
            row.live_workers,
            sum(counted.get(row.id, {}).values()),
            counted.get(row.id, {}).get(Status.WAITING, 0),
        )
        for row in rows
    )
    results = [AgentInUse.of(row, counted.get(row.id, {})) for row in rows]
    command.show(AgentsInUse(results=results), table("", columns, shown))
    if not rows:
        command.say("No worker has announced an agent yet.")


def _in_use(rows: list[AgentRow], counted: dict[UUID, dict[Status, int]]) -> Iterator[AgentRow]:
    """The newest of each agent, and whatever has workers or unfinished threads."""
    former = ""
    for row in rows:
        if row.agent != former or row.live_workers or counted.get(row.id):
            yield row
        former = row.agent


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", help="its name; `agent list` shows them")
    parser.add_argument(
        "--code", default="", metavar="PREFIX", help="how a fingerprint begins; else the live one"
    )


def show(command: PersonalCommand) -> None:
    """One version: graph, tools, state."""
    actor = command.actor("read")
    row = _named(command.options["agent"], command.options["code"])
    detail = AgentDetail.of(row, actor.workspace)
    command.show(
        detail,
        facts(
            "",
            [
                ("agent", row.agent),
                ("title", row.label),
                *([("description", row.description)] if row.description else []),
                ("version", row.version),
                ("code", row.fingerprint),
                ("schema", row.schema_version),
                ("durability", durability_words(row)),
                ("queue", row.queue),
                ("live workers", row.live_workers),
                ("announced", f"{row.created_at:%Y-%m-%d %H:%M:%S} UTC"),
            ],
        ),
        table("Graph", ("node", "leads to", "note"), _nodes(row.graph)),
        table("Tools", ("tool", "arguments", "undo", "repeatable", "held by"), _tools(row, detail)),
        table("State", ("channel", "type", "reducer", "default"), _channels(row)),
    )


def _named(name: str, code: str) -> AgentRow:
    rows = queries.agent_versions(name)
    if not rows:
        known = sorted({row.agent for row in queries.agent_versions()})
        others = f"known are {', '.join(known)}" if known else "no agent has been announced"
        raise Missing(f"No worker has announced an agent named {name}; {others}.")
    if not code:
        return queries.agent(name)
    for row in rows:
        if row.fingerprint.startswith(code.lower()):
            return row
    raise Missing(f"No announced code of {name} begins with {code}; see `agent list --all`.")


def _nodes(graph: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for node in graph.get("nodes", []):
        ways = [*node.get("then", []), *(["END"] if node.get("ends") else [])]
        marks = [
            *(["begins here"] if node["name"] in graph.get("entry", []) else []),
            *(["gate"] if node.get("gate") else []),
            *(["one of these"] if node.get("conditional") else []),
        ]
        yield node["name"], ", ".join(ways) or "END", ", ".join(marks)


def _tools(row: AgentRow, detail: AgentDetail) -> Iterator[tuple[str, str, str, str, str]]:
    held = {
        one.tool: ", ".join(policy.name for policy in one.holdings) or one.escapes or "no policy"
        for one in detail.held_tools
    }
    for name, tool in row.tools.items():
        schema = tool.get("schema") or {}
        arguments = ", ".join(schema.get("properties") or {})
        repeatable = "yes" if tool.get("idempotent") else "no"
        yield name, arguments, tool.get("undo") or "none", repeatable, held.get(name, "")


def _channels(row: AgentRow) -> Iterator[tuple[str, str, str, object]]:
    properties = row.schema.get("properties", {})
    names = row.schema.get("x-order") or list(row.channels)
    for name in names:
        channel, part = row.channels.get(name, {}), properties.get(name, {})
        kinds = part.get("type") or "|".join(
            str(p.get("type") or p.get("$ref", "").rpartition("/")[2])
            for p in part.get("anyOf", [part])
        )
        default = repr(channel["default"]) if "default" in channel else "(must be given)"
        yield name, str(kinds), str(channel.get("reducer", "")), default[:60]


AGENT = (
    Verb(
        "check",
        "look at an agent's module as a worker would take it, before one does",
        check,
        check_options,
        "agent check mine.agent\nagent check mine.agent --strict --json\nagent check",
    ),
    Verb(
        "impact",
        "say what the code installed here would do with every suspended thread",
        impact,
        impact_options,
        "agent impact\nagent impact mine.agent --json\nagent impact --only stops,upgrades",
    ),
    Verb(
        "list",
        "list announced agents with their versions, workers and threads",
        list_agents,
        _list_options,
    ),
    Verb(
        "show",
        "show an agent's graph, tools and state",
        show,
        _show_options,
        "agent show market-research",
    ),
)
