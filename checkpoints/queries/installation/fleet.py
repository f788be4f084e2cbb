"""Agents, workers, files, workspaces and who may do what in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.views import AgentRow, ArtifactRow, WorkerRow

from ..rows import decoded, names, row_of, rows
from .live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS

AGENT = f"""
SELECT v.id, v.agent, v.version, v.fingerprint, coalesce(n.label, v.label),
  coalesce(n.description, v.description), v.schema_version, v.schema::text, v.channels::text,
  v.graph::text, v.tools::text, coalesce(n.queue, v.queue),
  coalesce(n.created_at, v.created_at) AS created_at,
  (SELECT count(*) FROM gp_worker w WHERE w.stopped_at IS NULL AND w.agents ? v.id::text
    AND w.seen_at > clock_timestamp() - make_interval(secs => %s) AND w.{NOT_AHEAD})
FROM gp_agent_version v LEFT JOIN gp_agent_announcement n ON n.agent_version_id = v.id
"""
# What only a capsule says of an agent is nobody's agent here.
KNOWN = "(v.imported_into IS NULL OR n.agent_version_id IS NOT NULL) "


def _agent(values: Sequence[Any]) -> AgentRow:
    return row_of(AgentRow, values, dict.fromkeys((7, 8, 9, 10), decoded))


def agents() -> list[AgentRow]:
    """The newest announced version of each agent, by name."""
    found = rows(
        f"SELECT DISTINCT ON (x.agent) x.* FROM ({AGENT} WHERE {KNOWN}) x "
        "ORDER BY x.agent, x.created_at DESC, x.version DESC",
        (WORKER_ALIVE_SECONDS,),
    )
    return [_agent(r) for r in found]


def agent(name: str) -> AgentRow:
    """The version of an agent that live workers know, else the newest; raises NotFound."""
    found = rows(
        f"SELECT x.* FROM ({AGENT} WHERE {KNOWN}) x WHERE x.agent = %s::varchar "
        "ORDER BY (x.count > 0) DESC, x.created_at DESC, x.version DESC LIMIT 1",
        (WORKER_ALIVE_SECONDS, name),
    )
    if not found:
        raise NotFound(f"No worker has announced an agent named {name!r}.")
    return _agent(found[0])


def agent_version(version_id: UUID) -> AgentRow:
    """One agent version; raises NotFound."""
    found = rows(AGENT + "WHERE v.id = %s::uuid", (WORKER_ALIVE_SECONDS, version_id))
    if not found:
        raise NotFound("There is no such agent version.")
    return _agent(found[0])


def code_of_version(version_id: UUID) -> dict[str, Any] | None:
    """What its code consists of (`checkpoints.code_parts`); None where nobody recorded it."""
    found = rows("SELECT code::text FROM gp_agent_version WHERE id = %s::uuid", (version_id,))
    code: dict[str, Any] | None = decoded(found[0][0]) if found and found[0][0] else None
    return code


def same_code(agent: str, version: int, fingerprints: Sequence[str]) -> set[UUID]:
    """The versions that workers announced here with one of these fingerprints."""
    found = rows(
        "SELECT id FROM gp_agent_version WHERE agent = %s::varchar AND version = %s::integer "
        "AND fingerprint = ANY(%s::text[]) AND imported_into IS NULL",
        (agent, version, list(fingerprints)),
    )
    return {ident for (ident,) in found}


def agent_versions(agent: str = "") -> list[AgentRow]:
    """All announced versions, of one agent or of all, by name and newest first; up to 1,000."""
    found = rows(
        f"{AGENT} WHERE {KNOWN} AND (%s::text = '' OR v.agent = %s::varchar) "
        "ORDER BY v.agent, v.created_at DESC, v.version DESC LIMIT 1000",
        (WORKER_ALIVE_SECONDS, agent, agent),
    )
    return [_agent(r) for r in found]


def workers() -> list[WorkerRow]:
    """Workers seen within a day, newest sign of life first."""
    found = rows(
        "SELECT id, host, pid, slots, queues::text, agents::text, started_at, seen_at, "
        "stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %s) "
        f"AND {NOT_AHEAD}, stopped_at IS NOT NULL "
        "FROM gp_worker WHERE seen_at > clock_timestamp() - interval '1 day' "
        "ORDER BY seen_at DESC",
        (WORKER_ALIVE_SECONDS,),
    )
    return [row_of(WorkerRow, r, {4: names, 5: names}) for r in found]


def artifact(sha256: str, *, workspace: UUID) -> ArtifactRow:
    """One file by its content hash; raises NotFound."""
    found = rows(
        "SELECT sha256, name, media_type, size, path FROM gp_artifact "
        "WHERE workspace_id = %s::uuid AND sha256 = %s::varchar",
        (workspace, sha256),
    )
    if not found:
        raise NotFound("There is no such file in this workspace.")
    return ArtifactRow(*found[0])


def known_files(hashes: Collection[str], *, workspace: UUID) -> set[str]:
    """Which of these files the workspace has, by one statement for all of them."""
    if not hashes:
        return set()
    found = rows(
        "SELECT sha256 FROM gp_artifact WHERE workspace_id = %s::uuid "
        "AND sha256 = ANY(%s::varchar[])",
        (workspace, [sha for sha in hashes if len(sha) == 64]),
    )
    return {sha for (sha,) in found}


def default_workspace() -> UUID:
    """The oldest workspace; raises NotFound before the first is made."""
    raw = rows("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1")
    if not raw:
        raise NotFound("There is no workspace yet; `manage.py up` makes one.")
    found: UUID = raw[0][0]
    return found


def memberships(user_id: int) -> list[tuple[UUID, str, str]]:
    """(workspace, workspace name, role) of a user, oldest workspace first."""
    found = rows(
        "SELECT w.id, w.name, m.role FROM gp_membership m JOIN gp_workspace w "
        "ON w.id = m.workspace_id WHERE m.user_id = %s ORDER BY w.created_at, m.role",
        (user_id,),
    )
    return [(r[0], r[1], r[2]) for r in found]


@dataclass(frozen=True, slots=True)
class Member:
    """A user as read by one statement: columns of their own, memberships as above, groups.

    `beside` is what was asked for in the same breath.
    """

    own: tuple[Any, ...]
    memberships: list[tuple[UUID, str, str]]
    groups: tuple[str, ...]
    beside: Any = None


def member(
    user_id: int,
    *,
    table: str,
    own: Sequence[str],
    beside: str = "NULL",
    params: Sequence[Any] = (),
) -> Member | None:
    """A user of the table of users, with `own` columns of it; None where there is none.

    `beside` is the SQL of one more value with its parameters, which has nothing to do with them.
    """
    columns = ", ".join(f'u."{name}"' for name in own)
    found = rows(
        f"SELECT w.id, w.name, m.role, ARRAY(SELECT g.name FROM auth_user_groups ug "
        "JOIN auth_group g ON g.id = ug.group_id WHERE ug.user_id = u.id), "
        f'({beside}), {columns} FROM "{table}" u LEFT JOIN (gp_membership m JOIN gp_workspace w '
        "ON w.id = m.workspace_id) ON m.user_id = u.id WHERE u.id = %s "
        "ORDER BY w.created_at, m.role",
        (*params, user_id),
    )
    if not found:
        return None
    memberships = [(r[0], r[1], r[2]) for r in found if r[0] is not None]
    return Member(found[0][5:], memberships, tuple(sorted(found[0][3])), found[0][4])
