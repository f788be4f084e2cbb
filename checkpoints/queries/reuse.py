"""What was recorded at a step before: in the base of a fork, or before a rollback."""

from __future__ import annotations

from uuid import UUID

from ..views import ActivityRow
from .activities import COLUMNS, activity_of
from .rows import rows

# So many records of one step are looked through.
AT_A_STEP = 500
PURE = ("activity", "model")

# The thread's own former branches, then its bases up to the moment that each was forked: what a
# base does later belongs to it alone. Only by the very code that now works: a branch that began
# with the thread's code, in threads that have kept it.
_REUSABLE = f"""
WITH RECURSIVE family AS (
  SELECT th.id AS of_thread, th.base, th.branch - 1 AS top, 'infinity'::timestamptz AS until,
    0 AS depth, th.agent_version_id
  FROM gp_thread th JOIN gp_checkpoint c ON c.thread_id = th.id AND c.number = th.branch_start
  WHERE th.id = %s::uuid AND c.agent_version_id = th.agent_version_id
  UNION ALL
  SELECT b.id, b.base, b.branch, least(f.until, own.created_at), f.depth + 1, b.agent_version_id
  FROM family f JOIN gp_thread own ON own.id = f.of_thread JOIN gp_thread b ON b.id = f.base
)
SELECT {COLUMNS} FROM family f
CROSS JOIN LATERAL generate_series(0, f.top) AS g (of_branch)
CROSS JOIN LATERAL (
  SELECT * FROM gp_activity x WHERE x.thread_id = f.of_thread AND x.branch = g.of_branch
  AND x.step = %s::integer OFFSET 0
) a
WHERE f.agent_version_id = %s::uuid AND a.finished_at <= f.until
  AND a.kind = ANY(%s::text[]) AND a.state = 'done'
ORDER BY f.depth, a.branch DESC, a.revision DESC LIMIT %s
"""


def reusable(thread_id: UUID, *, step: int, agent_version: UUID) -> list[ActivityRow]:
    """Pure results recorded at this step by the same code, the nearest former course first."""
    found = rows(_REUSABLE, (thread_id, step, agent_version, list(PURE), AT_A_STEP))
    return [activity_of(r) for r in found]


# What happened to the state between two steps, beside the steps themselves.
_TOUCHED = """
SELECT min(step) FROM gp_checkpoint WHERE thread_id = %s::uuid AND branch = %s::integer
  AND number > %s::integer AND source IN ('input', 'edit', 'upgrade')
"""


def touched_after(thread_id: UUID, *, branch: int, number: int) -> int | None:
    """The first step after a checkpoint of a branch at which a person's values joined the state."""
    step: int | None = rows(_TOUCHED, (thread_id, branch, number))[0][0]
    return step
