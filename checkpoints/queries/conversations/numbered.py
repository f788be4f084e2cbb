"""The newest thread of a conversation, and those whose holder is gone."""

from __future__ import annotations

from uuid import UUID

from checkpoints.views import ThreadRow

from ..rows import rows
from ..threads import THREAD, thread_of


def newest_numbered(prefix: str, digits: int, *, agent: str, workspace: UUID) -> ThreadRow | None:
    """The agent's thread whose name is `prefix` and the highest number of so many digits."""
    result = rows(
        # Any collation orders the digits, whatever it makes of the prefix.
        THREAD + "WHERE th.workspace_id = %s::uuid AND th.agent = %s::varchar AND th.name "
        "BETWEEN %s::varchar AND %s::varchar AND starts_with(th.name, %s) ORDER BY th.name DESC "
        "LIMIT 1",
        (workspace, agent, prefix + "0" * digits, prefix + "9" * digits, prefix),
    )
    return thread_of(result[0]) if result else None


def threads_past_lease(agent: str, *, queue: str, limit: int) -> list[tuple[UUID, str]]:
    """(id, name) of running threads of a queue and of such agents whose lease has expired."""
    result = rows(
        "SELECT id, coalesce(name, '') FROM gp_thread WHERE status = 'running' "
        "AND queue = %s::varchar AND lease_until < clock_timestamp() AND starts_with(agent, %s) "
        "LIMIT %s",
        (queue, agent, limit),
    )
    return [(thread, name) for thread, name in result]
