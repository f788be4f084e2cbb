"""Materialising: the state at any checkpoint, from one indexed query and no agent code.

A checkpoint's past is a few ranges of checkpoints, one per branch it went through, possibly in
other threads (forks share their past). The query walks from branch to branch, stops at the newest
keyframe on the way, and returns the keyframe and the deltas after it, oldest first. Each range is
looked up by itself (OFFSET 0): as a join the planner would rather read the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from . import channels as _channels
from . import deltas
from .channels import Digests, Reducer
from .errors import CorruptHistory, NotFound

_STATE = """
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth,
         (SELECT max(k.number) FROM gp_keyframe k WHERE k.thread_id = c.thread_id
           AND k.number BETWEEN c.branch_start AND c.number) AS kf,
         c.state_hash, c.schema_version
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  SELECT p.thread_id, p.number, p.branch_start, s.depth + 1,
         (SELECT max(k.number) FROM gp_keyframe k WHERE k.thread_id = p.thread_id
           AND k.number BETWEEN p.branch_start AND p.number),
         NULL::bytea, NULL::integer
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
  WHERE s.kf IS NULL
)
SELECT s.depth, k.number, true, k.state::text, s.state_hash, s.schema_version
  FROM seg s, LATERAL (SELECT x.number, x.state FROM gp_keyframe x
    WHERE x.thread_id = s.thread_id AND x.number = s.kf OFFSET 0) k
UNION ALL
SELECT s.depth, c.number, false, c.delta::text, s.state_hash, s.schema_version
  FROM seg s, LATERAL (SELECT x.number, x.delta FROM gp_checkpoint x WHERE
    x.thread_id = s.thread_id AND x.number BETWEEN coalesce(s.kf + 1, s.lo) AND s.hi OFFSET 0) c
ORDER BY 1 DESC, 2, 3 DESC
"""


@dataclass(frozen=True, slots=True)
class Materialised:
    """A state with the hash and schema version that its checkpoint claims."""

    state: dict[str, Any]
    state_hash: bytes
    schema_version: int
    deltas_read: int


def materialise(thread: UUID, checkpoint: UUID) -> Materialised:
    """The state at `checkpoint` of `thread`; raises NotFound."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, (thread, checkpoint))
        rows = cursor.fetchall()
    if not rows:
        raise NotFound("There is no such checkpoint in this thread.")
    # The checkpoint's own range comes last and carries what the checkpoint claims.
    state_hash, schema_version = bytes(rows[-1][4]), int(rows[-1][5])
    base: dict[str, Any] = {}
    if rows[0][2]:
        base = deltas.decode(rows[0][3])
        rows = rows[1:]
    return Materialised(deltas.fold(base, _decoded(rows)), state_hash, schema_version, len(rows))


def _decoded(rows: Iterable[tuple[Any, ...]]) -> Iterable[Mapping[str, Any]]:
    return (deltas.decode(row[3]) for row in rows)


def checked_digests(found: Materialised, reducers: Mapping[str, Reducer]) -> Digests:
    """Digests of a materialised state; raises CorruptHistory when they do not fit its hash."""
    digests = Digests.of(found.state, reducers)
    if digests.root != found.state_hash:
        raise CorruptHistory("The stored state does not fit the hash of its checkpoint.")
    return digests


def reducers_of(agent_version: UUID) -> dict[str, Reducer]:
    """Reducers per channel as the agent version declares them; needs no agent code."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT channels::text FROM gp_agent_version WHERE id = %s::uuid", (agent_version,)
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such agent version.")
    return _channels.reducers_of(deltas.decode(row[0]))
