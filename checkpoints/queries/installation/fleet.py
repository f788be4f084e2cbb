"""Agents, workers, files, workspaces and who may do what in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from checkpoints.durabilities import BUFFERED, DURABLE, EVERYSEC, HOT
from checkpoints.errors import NotFound
from checkpoints.postgres import reads as prepared
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.tables.columns import AGENT_VERSION
from checkpoints.tables.readers import Reader, record_of
from checkpoints.views import AgentRow, ArtifactRow, WorkerRow
from gatepost_command import START

from ..rows import decoded, names, rows
from .live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS

_agent = Reader(
    AgentRow,
    AGENT_VERSION,
    alias="v",
    sql={
        "label": "coalesce(n.label, v.label)",
        "description": "coalesce(n.description, v.description)",
        "queue": "coalesce(n.queue, v.queue)",
        "created_at": "coalesce(n.created_at, v.created_at) AS created_at",
        "durability": f"coalesce(v.graph ->> 'durability', '{DURABLE}')",
        "ttl": "(v.graph ->> 'ttl')::integer",
        "acknowledge": f"CASE WHEN v.graph ->> 'durability' = '{HOT}' "
        f"THEN coalesce(v.graph ->> 'acknowledge', '{BUFFERED}') END",
        "live_workers": "(SELECT count(*) FROM gp_worker w WHERE w.stopped_at IS NULL "
        "AND w.agents ? v.id::text "
        f"AND w.seen_at > clock_timestamp() - make_interval(secs => %s) AND w.{NOT_AHEAD})",
    },
)
AGENT = (
    f"SELECT {_agent.select} FROM gp_agent_version v "
    "LEFT JOIN gp_agent_announcement n ON n.agent_version_id = v.id "
)
# What only a capsule says of an agent is nobody's agent here.
KNOWN = "(v.imported_into IS NULL OR n.agent_version_id IS NOT NULL) "
# An agent that works elsewhere belongs to the workspace where it announced itself.
OURS = "AND (v.graph -> 'external' IS NULL OR v.graph #>> '{external,workspace}' = %s::uuid::text) "


def agents(*, workspace: UUID | None = None) -> list[AgentRow]:
    """The newest announced version of each agent, by name; without `workspace` only of ours."""
    result = rows(
        f"SELECT DISTINCT ON (x.agent) x.* FROM ({AGENT} WHERE {KNOWN}{OURS}) x "
        "ORDER BY x.agent, x.created_at DESC, x.version DESC",
        (WORKER_ALIVE_SECONDS, workspace),
    )
    return [_agent(r) for r in result]


def hot_agents() -> list[AgentRow]:
    """Those of `agents` whose steps wait in the hot store."""
    return [one for one in agents() if one.acknowledge not in (None, DURABLE)]


def may_lose_seconds(hot: Sequence[AgentRow]) -> bool:
    """Say whether each of these hot agents chose that the last seconds may be lost."""
    return bool(hot) and all(one.acknowledge == EVERYSEC for one in hot)


def agent(name: str, *, workspace: UUID | None = None) -> AgentRow:
    """The version of an agent that live workers know, else the newest; raises NotFound.

    Without `workspace` only agents of ours are known, none that works elsewhere.
    """
    result = rows(
        f"SELECT x.* FROM ({AGENT} WHERE {KNOWN}{OURS}) x WHERE x.agent = %s::varchar "
        "ORDER BY (x.count > 0) DESC, x.created_at DESC, x.version DESC LIMIT 1",
        (WORKER_ALIVE_SECONDS, workspace, name),
    )
    if not result:
        raise NotFound(f"No worker has announced an agent named {name!r}.")
    return _agent(result[0])


def agent_version(version_id: UUID) -> AgentRow:
    """One agent version; raises NotFound."""
    result = rows(AGENT + "WHERE v.id = %s::uuid", (WORKER_ALIVE_SECONDS, version_id))
    if not result:
        raise NotFound("There is no such agent version.")
    return _agent(result[0])


@lru_cache(maxsize=64)
def announced_agent(version_id: UUID) -> AgentRow:
    """An agent version as it was announced, read once in a process; raises NotFound.

    Its id follows from its content. What may change beside it (label, description, queue,
    workers) is as it was at the first read.
    """
    return agent_version(version_id)


def announced_tool(version_id: UUID, name: str) -> dict[str, Any] | None:
    """A tool as a thread of this version has it; None of one that its agent never announced.

    The announcement that the thread began with counts first. An agent that works elsewhere may
    announce more tools later: then the newest announcement that names the tool counts.
    """
    own = announced_agent(version_id)
    if name in own.tools or own.external is None:
        tool: dict[str, Any] | None = own.tools.get(name)
        return tool
    later = _later(own, "v.tools ? %s::text", name)
    return None if later is None else later.tools[name]


def has_announced_node(version_id: UUID, name: str) -> bool:
    """Say whether an agent announced a node, with the thread of this version or later."""
    own = announced_agent(version_id)
    if name in {node["name"] for node in own.graph.get("nodes", [])}:
        return True
    named = "v.graph @> jsonb_build_object('nodes', jsonb_build_array(jsonb_build_object('name', "
    return own.external is not None and _later(own, f"{named}%s::text)))", name) is not None


def _later(own: AgentRow, condition: str, name: str) -> AgentRow | None:
    """The newest announcement of the same agent, in its workspace, that a condition holds for."""
    result = rows(
        f"SELECT x.* FROM ({AGENT} WHERE {KNOWN} AND v.agent = %s::varchar "
        "AND v.graph #>> '{external,workspace}' = %s::text "
        f"AND v.graph #>> '{{external,watched}}' IS NULL AND {condition}) x "
        "ORDER BY x.created_at DESC, x.version DESC LIMIT 1",
        (WORKER_ALIVE_SECONDS, own.agent, own.graph["external"]["workspace"], name),
    )
    return _agent(result[0]) if result else None


def code_of_version(version_id: UUID) -> dict[str, Any] | None:
    """The code parts of a version (`checkpoints.code_parts`); None where none are recorded."""
    result = rows("SELECT code::text FROM gp_agent_version WHERE id = %s::uuid", (version_id,))
    code: dict[str, Any] | None = decoded(result[0][0]) if result and result[0][0] else None
    return code


def same_code(agent: str, version: int, fingerprints: Sequence[str]) -> set[UUID]:
    """The versions that workers announced here with one of these fingerprints."""
    result = rows(
        "SELECT id FROM gp_agent_version WHERE agent = %s::varchar AND version = %s::integer "
        "AND fingerprint = ANY(%s::text[]) AND imported_into IS NULL",
        (agent, version, list(fingerprints)),
    )
    return {ident for (ident,) in result}


def agent_versions(agent: str = "") -> list[AgentRow]:
    """All announced versions, of one agent or of all, by name and newest first; up to 1,000."""
    result = rows(
        f"{AGENT} WHERE {KNOWN} AND (%s::text = '' OR v.agent = %s::varchar) "
        "ORDER BY v.agent, v.created_at DESC, v.version DESC LIMIT 1000",
        (WORKER_ALIVE_SECONDS, agent, agent),
    )
    return [_agent(r) for r in result]


def workers() -> list[WorkerRow]:
    """Workers seen within a day, newest sign of life first."""
    result = fetch_named(
        "SELECT id, host, pid, slots, queues::text, agents::text, started_at, seen_at, "
        "stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %s) "
        f"AND {NOT_AHEAD} AS alive, stopped_at IS NOT NULL AS stopped "
        "FROM gp_worker WHERE seen_at > clock_timestamp() - interval '1 day' "
        "ORDER BY seen_at DESC",
        (WORKER_ALIVE_SECONDS,),
    )
    return [record_of(WorkerRow, r, queues=names, agents=names) for r in result]


def artifact(sha256: str, *, workspace: UUID) -> ArtifactRow:
    """One file by its content hash; raises NotFound."""
    result = rows(
        "SELECT sha256, name, media_type, size, path FROM gp_artifact "
        "WHERE workspace_id = %s::uuid AND sha256 = %s::varchar",
        (workspace, sha256),
    )
    if not result:
        raise NotFound("There is no such file in this workspace.")
    return ArtifactRow(*result[0])


def known_files(hashes: Collection[str], *, workspace: UUID) -> set[str]:
    """Which of these files the workspace has, by one statement for all of them."""
    if not hashes:
        return set()
    result = rows(
        "SELECT sha256 FROM gp_artifact WHERE workspace_id = %s::uuid "
        "AND sha256 = ANY(%s::varchar[])",
        (workspace, [sha for sha in hashes if len(sha) == 64]),
    )
    return {sha for (sha,) in result}


def default_workspace() -> UUID:
    """The oldest workspace; raises NotFound before the first is made."""
    raw = rows("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1")
    if not raw:
        raise NotFound(f"There is no workspace yet; `{START}` makes one.")
    result: UUID = raw[0][0]
    return result


def memberships(user_id: int) -> list[tuple[UUID, str, str]]:
    """(workspace, workspace name, role) of a user, oldest workspace first."""
    result = rows(
        "SELECT w.id, w.name, m.role FROM gp_membership m JOIN gp_workspace w "
        "ON w.id = m.workspace_id WHERE m.user_id = %s ORDER BY w.created_at, m.role",
        (user_id,),
    )
    return [(ident, name, role) for ident, name, role in result]


@dataclass(frozen=True, slots=True)
class Member:
    """A user as read by one statement: columns of their own, memberships as above, groups.

    `factor_roles` are {workspace: roles that need a second factor there} of their workspaces.
    """

    own: tuple[Any, ...]
    memberships: list[tuple[UUID, str, str]]
    groups: tuple[str, ...]
    factor_roles: dict[UUID, frozenset[str]]


def member(user_id: int, *, table: str, own: Sequence[str]) -> Member | None:
    """A user of the table of users, with `own` columns of it; None where there is none."""
    which = "u.id = %s::bigint", (user_id,)
    return member_of(prepared.fetch(*member_query(which, table=table, own=own)))


def member_query(which: prepared.Query, *, table: str, own: Sequence[str]) -> prepared.Query:
    """The question behind `member_of`; `which` is the condition on the user's row `u`."""
    condition, values = which
    columns = ", ".join(f'u."{name}"' for name in own)
    return (
        f"SELECT w.id, w.name, m.role, ARRAY(SELECT g.name FROM auth_user_groups ug "
        "JOIN auth_group g ON g.id = ug.group_id WHERE ug.user_id = u.id), "
        "ARRAY(SELECT jsonb_array_elements_text(w.second_factor_roles)), "
        f'{columns} FROM "{table}" u LEFT JOIN (gp_membership m JOIN gp_workspace w '
        f"ON w.id = m.workspace_id) ON m.user_id = u.id WHERE {condition} "
        "ORDER BY w.created_at, m.role",
        values,
    )


def member_of(result: Sequence[tuple[Any, ...]]) -> Member | None:
    """The user of these rows; None where there are none."""
    if not result:
        return None
    memberships = [(ident, name, role) for ident, name, role, *_ in result if ident is not None]
    factor_roles = {ident: frozenset(roles) for ident, _, _, _, roles, *_ in result if ident}
    _, _, _, groups, _, *values = result[0]
    return Member(tuple(values), memberships, tuple(sorted(groups)), factor_roles)
