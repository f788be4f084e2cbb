"""Which live worker has which code: who may take a thread of other code than one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from checkpoints.agent_versions import EXTERNAL_QUEUE

from ..rows import rows

WORKER_ALIVE_SECONDS: Final = 15
# A sign of life from the future is one from before the clock stepped back, by how much ever.
NOT_AHEAD: Final = f"seen_at < clock_timestamp() + interval '{WORKER_ALIVE_SECONDS} seconds'"

# One row per live worker and agent version; the one parameter is WORKER_ALIVE_SECONDS.
SERVED: Final = (
    "SELECT w.id AS worker, w.queues, v.id::text AS version, v.agent FROM gp_worker w "
    "CROSS JOIN LATERAL jsonb_array_elements_text(w.agents) AS a(version) "
    "JOIN gp_agent_version v ON v.id = a.version::uuid WHERE w.stopped_at IS NULL "
    f"AND w.seen_at > clock_timestamp() - make_interval(secs => %s) AND w.{NOT_AHEAD}"
)


@dataclass(frozen=True, slots=True)
class Takeable:
    """A thread that somebody could take now: which code it stopped with and where it is queued."""

    agent: str
    version: UUID
    queue: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Serving:
    """A live worker that has this version of this agent."""

    worker: str
    version: UUID
    agent: str


def takeable(thread_id: UUID) -> Takeable | None:
    """Read a thread's facts for a worker with other code; None if nobody can take the thread."""
    result = rows(
        "SELECT agent, agent_version_id, queue, pinned FROM gp_thread WHERE id = %s::uuid "
        f"AND queue <> '{EXTERNAL_QUEUE}' "
        "AND (status = 'queued' OR (status = 'rolling_back' AND lease_token IS NULL) "
        "OR (status IN ('running', 'rolling_back') AND lease_until < clock_timestamp()))",
        (thread_id,),
    )
    return Takeable(*result[0]) if result else None


def serving(queue: str) -> list[Serving]:
    """Live workers of a queue with what they have, those that started last first."""
    result = rows(
        f"SELECT s.worker, s.version::uuid, s.agent FROM ({SERVED} ORDER BY w.started_at DESC) s "
        "WHERE s.queues ? %s::text",
        (WORKER_ALIVE_SECONDS, queue),
    )
    return [Serving(*row) for row in result]
