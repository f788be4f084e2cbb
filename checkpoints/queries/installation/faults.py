"""Faults: failed attempts, lost steps, services that asked to be called later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.tables.readers import decoded

from ..rows import rows

# Where the present step began, or a person last let it try again: found going back from the end.
_SINCE = (
    "seq > (SELECT coalesce((SELECT b.seq FROM gp_event b WHERE b.thread_id = %s::uuid "
    "AND b.kind IN ('checkpoint.committed', 'thread.retried', 'node.skipped') "
    "ORDER BY b.seq DESC LIMIT 1), 0))"
)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as it is in the row, and the node that works under it."""

    thread: UUID
    token: UUID
    owner: str
    fence: int
    step: int
    node: str


def lease(thread_id: UUID) -> Lease | None:
    """The lease on a thread; None when nobody has one. Raises NotFound."""
    result = rows(
        "SELECT id, lease_token, lease_owner, fence, step + 1, (SELECT string_agg(n, ', ') "
        "FROM jsonb_array_elements_text(next_nodes) n) FROM gp_thread WHERE id = %s::uuid",
        (thread_id,),
    )
    if not result:
        raise NotFound("There is no such thread.")
    thread, token, owner, fence, step, nodes = result[0]
    return None if token is None else Lease(thread, token, owner, fence, step, nodes or "")


def leases_of(owner: str) -> list[Lease]:
    """The leases that one process of a worker holds."""
    result = rows(
        "SELECT id FROM gp_thread WHERE status IN ('running', 'rolling_back') "
        "AND lease_owner = %s::varchar AND lease_token IS NOT NULL",
        (owner,),
    )
    held = (lease(thread) for (thread,) in result)
    return [one for one in held if one is not None and one.owner == owner]


def failures(thread_id: UUID, activity: UUID) -> int:
    """Count the failures of an activity in this step since a person last clicked on Retry."""
    result = rows(
        "SELECT count(*) FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind IN ('activity.failed', 'model.failed', 'effect.failed') "
        "AND data ->> 'activity' = %s::text "
        f"AND {_SINCE}",
        (thread_id, str(activity), thread_id),
    )
    return int(result[0][0])


def losses(thread_id: UUID) -> list[tuple[str, str]]:
    """(node, why) of each time the present step was lost and somebody could say why, last first."""
    result = rows(
        "SELECT data ->> 'node', data ->> 'error' FROM gp_event WHERE thread_id = %s::uuid "
        f"AND kind = 'step.failed' AND data ? 'lost' AND {_SINCE} ORDER BY seq DESC",
        (thread_id, thread_id),
    )
    return [(node, why) for node, why in result]


def held_off(workspace: UUID, name: str) -> tuple[float, str] | None:
    """(seconds left, its message) where a service asked everybody to call it later."""
    result = rows(
        "SELECT extract(epoch FROM until - clock_timestamp())::float8, said FROM gp_backoff "
        "WHERE workspace_id = %s::uuid AND name = %s::varchar AND until > clock_timestamp()",
        (workspace, name[:250]),
    )
    return (float(result[0][0]), result[0][1]) if result else None


def held_off_longest() -> float:
    """Seconds until every service may be called again, in any workspace; 0 if that is now."""
    result = rows(
        "SELECT coalesce(max(extract(epoch FROM until - clock_timestamp())), 0)::float8 "
        "FROM gp_backoff WHERE until > clock_timestamp()"
    )
    return float(result[0][0])


@dataclass(frozen=True, slots=True)
class LostSteps:
    """A loss of buffered steps, by the event that names it; `data` is {} once it is erased."""

    seq: int
    at: datetime
    data: dict[str, Any]


def lost_steps(thread_id: UUID, *, workspace: UUID, limit: int = 3) -> list[LostSteps]:
    """The newest losses of a thread's buffered steps."""
    result = rows(
        "SELECT seq, at, data::text FROM gp_event "
        "WHERE kind = 'steps.lost' AND workspace_id = %s::uuid AND thread_id = %s::uuid "
        "ORDER BY seq DESC LIMIT %s",
        (workspace, thread_id, limit),
    )
    return [LostSteps(seq, at, decoded(data) or {}) for seq, at, data in result]
