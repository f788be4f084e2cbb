"""What workers announce about themselves: agent versions and signs of life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.agent_versions import version_id
from checkpoints.names import check_name, name_fault
from checkpoints.state import deltas

_INSERT_VERSION = (
    "INSERT INTO gp_agent_version (id, agent, version, fingerprint, label, description, "
    "schema_version, schema, channels, graph, tools, queue, code) VALUES (%s::uuid, "
    "%s::varchar, %s::integer, %s::varchar, %s::varchar, %s::text, %s::integer, "
    "%s::jsonb, %s::jsonb, %s::jsonb, %s::jsonb, %s::varchar, %s::jsonb) "
    "ON CONFLICT DO NOTHING"
)


def announce_version(
    *,
    agent: str,
    version: int,
    fingerprint: str,
    label: str,
    description: str,
    schema_version: int,
    schema: dict[str, Any],
    channels: dict[str, Any],
    graph: dict[str, Any],
    tools: dict[str, Any],
    queue: str,
    code: dict[str, Any] | None = None,
) -> UUID:
    """Insert the agent version unless it is known (agent, version, fingerprint); its id.

    The id follows from what is announced, so that every installation gives the same code the same
    one: checkpoints name it in their hashes, also after a thread was carried elsewhere. Where a
    capsule brought this very version before, it becomes one that is known here. Raises InvalidValue
    for a name that is none (`checkpoints.names`), unless a version of this agent has it already.
    """
    _check_names(agent, channels, graph, tools)
    ident = version_id(
        {
            "agent": agent,
            "version": version,
            "fingerprint": fingerprint,
            "schema_version": schema_version,
            "schema": schema,
            "channels": channels,
            "graph": graph,
            "tools": tools,
        }
    )
    documents = [deltas.canonical(x).decode() for x in (schema, channels, graph, tools)]
    parts = None if code is None else deltas.canonical(code).decode()
    own = (ident, agent, version, fingerprint, label, description, schema_version)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_VERSION, (*own, *documents, queue, parts))
        cursor.execute(
            "SELECT id FROM gp_agent_version WHERE agent = %s::varchar AND version = %s::integer "
            "AND fingerprint = %s::varchar AND imported_into IS NULL",
            (agent, version, fingerprint),
        )
        if (known := cursor.fetchone()) is not None:
            result: UUID = known[0]
            return result
        cursor.execute(
            "INSERT INTO gp_agent_announcement (agent_version_id, label, description, queue) "
            "VALUES (%s::uuid, %s::varchar, %s::text, %s::varchar) ON CONFLICT DO NOTHING",
            (ident, label, description, queue),
        )
    return ident


def _check_names(
    agent: str, channels: dict[str, Any], graph: dict[str, Any], tools: dict[str, Any]
) -> None:
    if name_fault(agent) and not _known_names(agent):
        check_name(agent, "$.agent")
    for path, names in _names(channels, graph, tools).items():
        faulty = [name for name in names if name_fault(name)]
        for name in faulty:
            if name not in _known_names(agent):
                check_name(name, path)


def _names(
    channels: dict[str, Any], graph: dict[str, Any], tools: dict[str, Any]
) -> dict[str, list[str]]:
    nodes = [node["name"] for node in graph.get("nodes", [])]
    return {"$.nodes": nodes, "$.tools": list(tools), "$.channels": list(channels)}


def _known_names(agent: str) -> set[str]:
    """The names that versions of this agent have here; its own is among them where there is one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT channels::text, graph::text, tools::text FROM gp_agent_version "
            "WHERE agent = %s::varchar AND imported_into IS NULL",
            (agent,),
        )
        versions = [[deltas.decode(text) for text in row] for row in cursor.fetchall()]
    known = {name for row in versions for names in _names(*row).values() for name in names}
    return known | ({agent} if versions else set())


def announce_worker(
    worker: str,
    *,
    host: str,
    pid: int,
    slots: int,
    queues: Sequence[str],
    agents: Sequence[UUID],
    models: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Enter a worker process group as alive.

    `models` says which model it would ask, by agent and workspace's name ("" for all others).
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_worker (id, host, pid, slots, queues, agents, models) "
            "VALUES (%s::varchar, %s::varchar, %s::integer, %s::integer, %s::jsonb, %s::jsonb, "
            "%s::jsonb) ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), "
            "stopped_at = NULL, agents = EXCLUDED.agents, models = EXCLUDED.models",
            (
                worker,
                host,
                pid,
                slots,
                deltas.canonical(list(queues)).decode(),
                deltas.canonical([str(a) for a in agents]).decode(),
                deltas.canonical({agent: dict(m) for agent, m in (models or {}).items()}).decode(),
            ),
        )


def heartbeat_worker(worker: str) -> None:
    """Say that the worker's loop still turns."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_worker SET seen_at = clock_timestamp(), stopped_at = NULL "
            "WHERE id = %s::varchar",
            (worker,),
        )


def note_refused_messages(worker: str, number: int) -> None:
    """Note how many messages this worker has refused since it started."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_worker SET messages_refused = %s::bigint WHERE id = %s::varchar",
            (number, worker),
        )


def retire_worker(worker: str) -> None:
    """Say that the worker stopped by itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_worker SET stopped_at = clock_timestamp() WHERE id = %s::varchar", (worker,)
        )
