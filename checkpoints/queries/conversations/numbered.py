"""The newest thread of a conversation, those whose holder is gone, and calls in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from checkpoints.views import ThreadRow

from ..rows import rows
from ..threads import THREAD, thread_of


def newest_numbered(prefix: str, digits: int, *, agent: str, workspace: UUID) -> ThreadRow | None:
    """The agent's thread whose name is `prefix` and the highest number of that many digits."""
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


def threads_in_doubt(
    prefix: str, tool: str, *, agent: str, workspace: UUID, also: Sequence[UUID] = ()
) -> list[tuple[UUID, int, int]]:
    """(id, branch, step of the record) of threads whose names begin with `prefix`.

    A person has to say of a call of this tool whether it happened. `also` are threads on which
    other calls are still at work.
    """
    result = rows(
        "SELECT th.id, a.branch, a.step FROM gp_thread th "
        "JOIN gp_activity a ON a.thread_id = th.id AND a.state = 'unknown' "
        "WHERE th.workspace_id = %s::uuid AND th.agent = %s::varchar "
        "AND (th.status = 'attention' OR th.id = ANY(%s::uuid[])) AND starts_with(th.name, %s) "
        "AND a.tool = %s::varchar",
        (workspace, agent, list(also), prefix, tool),
    )
    return [(thread, branch, step) for thread, branch, step in result]


def idle_numbered(agent: str, *, queue: str, seconds: float, limit: int) -> list[tuple[UUID, str]]:
    """(id, name) of queued threads of a queue and of such agents that nobody took for so long."""
    result = rows(
        "SELECT id, coalesce(name, '') FROM gp_thread WHERE status = 'queued' "
        "AND queue = %s::varchar AND starts_with(agent, %s) AND name IS NOT NULL "
        "AND status_since < clock_timestamp() - make_interval(secs => %s) LIMIT %s",
        (queue, agent, seconds, limit),
    )
    return [(thread, name) for thread, name in result]
