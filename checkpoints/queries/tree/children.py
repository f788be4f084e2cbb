"""Children as their parent joins them: where each stands, by which checkpoint and which event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from checkpoints.errors import CorruptHistory
from checkpoints.postgres import reads
from checkpoints.states import Status

from ..rows import rows
from ..states import materialized

# Rows of children, and of their states, per read.
ROWS_AT_ONCE, STATES_AT_ONCE = 1_000, 50


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A child as it stands: status, head with the hash of its state, end of its log."""

    id: UUID
    agent: str
    title: str
    status: Status
    reason: str
    head: UUID
    state_hash: bytes
    last_seq: int
    last_hash: bytes


def child_rows(parent: UUID, ids: Sequence[UUID]) -> dict[UUID, ChildRow]:
    """Those of these threads that `parent` started, by id: each, or whom it handed over to."""
    results: dict[UUID, ChildRow] = {}
    for i in range(0, len(ids), ROWS_AT_ONCE):
        for child, *row in rows(
            "WITH RECURSIVE now AS (SELECT id AS child, id FROM unnest(%s::uuid[]) AS x (id) "
            "UNION ALL SELECT now.child, k.successor FROM now "
            "JOIN gp_child k ON k.child_id = now.id WHERE k.outcome = 'handed_off') "
            "SELECT now.child, th.id, th.agent, th.title, th.status, th.status_reason, th.head, "
            "c.state_hash, th.last_seq, th.last_hash FROM now JOIN gp_thread th ON th.id = now.id "
            "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = th.head "
            "WHERE th.parent = %s::uuid AND NOT EXISTS (SELECT 1 FROM gp_child k "
            "WHERE k.child_id = th.id AND k.outcome = 'handed_off')",
            (list(ids[i : i + ROWS_AT_ONCE]), parent),
        ):
            ident, agent, title, status, reason, head, state_hash, seq, end = row
            results[child] = ChildRow(
                *(ident, agent, title, Status(status), reason, head, bytes(state_hash), seq),
                bytes(end),
            )
    return results


def states_at(points: Sequence[tuple[UUID, UUID, bytes]]) -> Iterator[dict[str, Any]]:
    """The state at each (thread, checkpoint, hash of its state), some in one round trip.

    Raises CorruptHistory for one that does not match its hash.
    """
    declared: dict[Any, Any] = {}
    for i in range(0, len(points), STATES_AT_ONCE):
        some = points[i : i + STATES_AT_ONCE]
        answers = reads.fetch_all(*[materialized.state_query(t, c) for t, c, _ in some])
        for (thread, checkpoint, state_hash), answer in zip(some, answers, strict=True):
            result = materialized.materialise(thread, checkpoint, rows=answer)
            if result.agent_version not in declared and result.agent_version is not None:
                reducers = materialized.reducers_of(result.agent_version)
                declared[result.agent_version] = reducers
            materialized.checked_digests(result, declared[result.agent_version])
            if result.state_hash != state_hash:
                raise CorruptHistory(f"The state of the child {thread} is not what was joined.")
            yield result.state


def parents(thread: UUID) -> list[dict[str, str]]:
    """The parents of a thread from the root down: {thread, agent, title} of each."""
    return [
        {"thread": str(ident), "agent": agent, "title": title}
        for ident, agent, title in rows(
            "WITH RECURSIVE up AS (SELECT th.parent, 0 AS level FROM gp_thread th "
            "WHERE th.id = %s::uuid UNION ALL SELECT p.parent, up.level + 1 FROM up "
            "JOIN gp_thread p ON p.id = up.parent) SELECT p.id, p.agent, p.title FROM up "
            "JOIN gp_thread p ON p.id = up.parent ORDER BY up.level DESC",
            (thread,),
        )
    ]


def tree_costs(root: UUID) -> dict[UUID, str]:
    """The cost of each thread of a tree."""
    return dict(
        rows(
            "SELECT id, cost::text FROM gp_thread WHERE id = %s::uuid OR root = %s::uuid",
            (root, root),
        )
    )


def place_of(thread: UUID) -> tuple[UUID, Status, str]:
    """The head, the status and the wish of a thread, whatever its workspace."""
    ((head, status, wish),) = rows(
        "SELECT head, status, wish FROM gp_thread WHERE id = %s::uuid", (thread,)
    )
    return head, Status(status), wish


def started_after(thread: UUID, checkpoint: UUID) -> list[UUID]:
    """Children that a thread started in steps after one of its checkpoints, and who took over."""
    return [
        child
        for (child,) in rows(
            "WITH RECURSIVE started AS (SELECT x.child::uuid AS id FROM gp_checkpoint c "
            "JOIN gp_activity a ON a.thread_id = c.thread_id AND a.branch >= c.branch "
            "AND a.step > c.step CROSS JOIN LATERAL jsonb_array_elements_text("
            "a.result -> 'children') AS x (child) WHERE c.thread_id = %s::uuid "
            "AND c.id = %s::uuid AND a.kind = 'activity' AND a.tool = 'spawn' "
            "AND a.state = 'done' UNION SELECT k.successor FROM started "
            "JOIN gp_child k ON k.child_id = started.id WHERE k.successor IS NOT NULL) "
            "SELECT id FROM started",
            (thread, checkpoint),
        )
    ]


def below(thread: UUID, *, only: Sequence[UUID] | None = None) -> dict[str, int]:
    """Count the unfinished threads below a thread, or below some children, by status.

    Those that begin when others end are counted as "held".
    """
    listed = None if only is None else list(only)
    return dict(
        rows(
            "WITH RECURSIVE down AS (SELECT th.id, th.status, th.waiting_on FROM gp_thread th "
            "WHERE th.parent = %s::uuid AND (%s::uuid[] IS NULL OR th.id = ANY(%s::uuid[])) "
            "UNION ALL SELECT c.id, c.status, c.waiting_on FROM down "
            "JOIN gp_thread c ON c.parent = down.id) SELECT CASE WHEN status = 'waiting' "
            "AND waiting_on ->> 'kind' = 'limit' THEN 'held' ELSE status END, count(*) FROM down "
            "WHERE status NOT IN ('succeeded', 'failed', 'cancelled') GROUP BY 1",
            (thread, listed, listed),
        )
    )
