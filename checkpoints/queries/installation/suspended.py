"""Threads that stand somewhere and will meet whatever code is installed next, by keyset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.states import Status
from checkpoints.tables.readers import names, record_of

# A thread that is being worked on is handed back when its worker stops: it meets the new code too.
STATUSES = (
    Status.QUEUED,
    Status.RUNNING,
    Status.WAITING,
    Status.SLEEPING,
    Status.PAUSED,
    Status.ATTENTION,
)
BATCH = 500


@dataclass(frozen=True, slots=True)
class SuspendedRow:
    """The position of a suspended thread, and its code and schema."""

    id: UUID
    workspace: UUID
    title: str
    agent: str
    status: Status
    status_reason: str
    head: UUID
    step: int
    next_nodes: tuple[str, ...]
    pinned: bool
    version: int
    fingerprint: str
    schema_version: int
    agent_version: UUID


def suspended(*, agents: Sequence[str] | None = None) -> Iterator[list[SuspendedRow]]:
    """All of them in batches, of every workspace, of these agents or of any; by id.

    One short statement per batch: what begins meanwhile may be missing, nothing comes twice.
    """
    after = UUID(int=0)
    while True:
        result = fetch_named(
            "SELECT th.id, th.workspace_id AS workspace, th.title, th.agent, th.status, "
            "th.status_reason, th.head, th.step, th.next_nodes::text, th.pinned, v.version, "
            "v.fingerprint, c.schema_version, v.id AS agent_version FROM gp_thread th "
            "JOIN gp_agent_version v ON v.id = th.agent_version_id "
            "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = th.head "
            "WHERE th.id > %s::uuid AND th.status = ANY(%s::text[]) "
            "AND (%s::text[] IS NULL OR th.agent = ANY(%s::text[])) ORDER BY th.id LIMIT %s",
            (
                after,
                [str(s) for s in STATUSES],
                None if agents is None else list(agents),
                None if agents is None else list(agents),
                BATCH,
            ),
        )
        if result:
            yield [record_of(SuspendedRow, r, status=Status, next_nodes=names) for r in result]
        if len(result) < BATCH:
            return
        after = result[-1].id
