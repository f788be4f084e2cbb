"""Calls, thoughts, configuration and lease around one checkpoint, from what is on record.

Everything is bounded: the newest n, of the newest m rows, long values by their size. A checkpoint
of the past is described as it was then; `later` calls came after it.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.sql_files import sql_file
from ...states import EventKind
from ...tables.readers import decoded, record_of
from ..past import BRANCHES
from .rows import CallRow, ThoughtRow

SQL = sql_file(__file__, branches=BRANCHES)
CALLS: Final = 50
THOUGHTS: Final = 50
SHOWN_CHARACTERS: Final = 4_000  # of one result or cursor; of a longer one only its size is read
_BRANCHES = 50
_ACTIVITIES, _EVENTS = 500, 2_000  # looked at, of each branch
_THOUGHTS: Final = [EventKind.THOUGHT_RECORDED, EventKind.MODEL_REASONED]
_LEASES: Final = [EventKind.LEASE_ACQUIRED, EventKind.LEASE_TAKEN_OVER]


def calls_around(thread_id: UUID, checkpoint_id: UUID, *, limit: int = CALLS) -> list[CallRow]:
    """The newest activities and effects on the way to a checkpoint and after it, newest first."""
    bounds = (SHOWN_CHARACTERS, SHOWN_CHARACTERS, SHOWN_CHARACTERS, _BRANCHES, _ACTIVITIES, limit)
    json = dict.fromkeys(("usage", "result", "cursor", "files", "temperature"), decoded)
    result = fetch_named(SQL.calls_around, (thread_id, checkpoint_id, *bounds))
    return [record_of(CallRow, row, **json) for row in result]


def thoughts_before(
    thread_id: UUID, checkpoint_id: UUID, *, limit: int = THOUGHTS
) -> list[ThoughtRow]:
    """List the newest thoughts of nodes on the path to a checkpoint, oldest first."""
    params = (thread_id, checkpoint_id, _BRANCHES, _EVENTS, list(map(str, _THOUGHTS)), limit)
    result = fetch_named(SQL.thoughts_before, params)
    return [record_of(ThoughtRow, row, facts=decoded) for row in reversed(result)]


def lease_before(thread_id: UUID, checkpoint_id: UUID) -> dict[str, Any]:
    """The facts of the lease under which a checkpoint was written; {} where there is none."""
    params = (thread_id, checkpoint_id, _BRANCHES, _EVENTS, list(map(str, _LEASES)))
    result = fetch_named(SQL.lease_before, params)
    return dict(decoded(result[0].data)) if result else {}


def config_at(thread_id: UUID, number: int) -> dict[str, Any]:
    """The configuration that a checkpoint holds, else that of the thread's first one."""
    result = fetch_named(
        "SELECT config::text FROM gp_checkpoint WHERE thread_id = %s::uuid "
        "AND number IN (0, %s::integer) AND config IS NOT NULL ORDER BY number DESC LIMIT 1",
        (thread_id, number),
    )
    return dict(decoded(result[0].config)) if result else {}


def packages_of(agent_version: UUID) -> dict[str, str]:
    """{distribution: version} of what an agent's code imports, as its first worker had them."""
    result = fetch_named(
        "SELECT (code -> 'packages')::text AS packages FROM gp_agent_version WHERE id = %s::uuid",
        (agent_version,),
    )
    return dict(decoded(result[0].packages) or {}) if result else {}
