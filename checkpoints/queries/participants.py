"""Whose hands a thread went through: who may not judge alone what comes of it."""

from __future__ import annotations

from uuid import UUID

from .past import BRANCHES
from .rows import rows

_HANDS = f"""
{BRANCHES}
SELECT DISTINCT split_part(who, '/', 1) FROM (
  SELECT th.started_by AS who FROM gp_thread th
    WHERE th.id IN (SELECT s.thread_id FROM seg s)
  UNION ALL
  SELECT c.created_by FROM seg s, LATERAL (SELECT x.created_by FROM gp_checkpoint x
    WHERE x.thread_id = s.thread_id AND x.number BETWEEN s.lo AND s.hi
    AND x.source IN ('edit', 'fork', 'import') OFFSET 0) c
) hands WHERE who LIKE 'user:%%' ORDER BY 1
"""


def hands_on(thread_id: UUID, checkpoint_id: UUID) -> tuple[str, ...]:
    """The people (`user:7`) who started, forked or edited what led to this checkpoint.

    Of the thread and of all its bases, as far as the way goes through them. A token's owner is
    the person: `user:7/token:x` counts as `user:7`.
    """
    return tuple(who for (who,) in rows(_HANDS, (thread_id, checkpoint_id)))
