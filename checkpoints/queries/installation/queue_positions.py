"""Find the position of a queued thread: threads of its workspace and turns of others before it.

Workspaces take turns on a queue: however many threads another one has queued, one of them is taken
for one of this thread's workspace.
"""

from __future__ import annotations

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import Status
from checkpoints.views import QUEUE_COUNTED, QueuePosition, ThreadRow

SQL = sql_file(__file__, counted=str(QUEUE_COUNTED))


def queue_position(thread: ThreadRow) -> QueuePosition | None:
    """The position of a thread; None where no free worker of ours would take it."""
    if thread.status is not Status.QUEUED or thread.external is not None:
        return None
    if thread.stopped is not None:
        return None
    [*result] = fetch_named(SQL.position, (thread.id,))
    return QueuePosition(*result[0]) if result else None
