"""Effects beside a thread's way: done on branches left behind, or in the base of a fork."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ..records import Position
from ..views import ActivityRow
from .activities import ACTIVITY, activity_of
from .past import branch_ranges
from .rows import rows

# (thread, branch, after this step, up to this step)
type Range = tuple[UUID, int, int, int]

_AT_PLACE = f"""
SELECT * FROM (
  SELECT r.n, a.* FROM unnest(%s::uuid[], %s::integer[], %s::integer[], %s::integer[])
    WITH ORDINALITY AS r(owner, part, lo, hi, n)
  CROSS JOIN LATERAL (
    {ACTIVITY} WHERE thread_id = r.owner AND branch = r.part AND step > r.lo AND step <= r.hi
    AND node = %s::varchar AND index = %s::integer AND key = %s::varchar
    ORDER BY step, revision LIMIT %s
  ) a
) found ORDER BY found.n, found.step, found.revision
"""


def branches_to_head(
    thread_id: UUID, head: UUID
) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
    """([(thread, branch, last step) on the way, newest first], {thread: its newest branch})."""
    results = [
        (owner, branch, step) for owner, branch, _, _, step in branch_ranges(thread_id, head)
    ]
    owners = list({owner for owner, _, _ in results})
    newest = rows("SELECT id, branch FROM gp_thread WHERE id = ANY(%s::uuid[])", (owners,))
    return results, {row[0]: row[1] for row in newest}


def at_place(ranges: Sequence[Range], position: Position, *, limit: int) -> list[ActivityRow]:
    """List the activities at one node, index and key in these ranges, at most `limit` of each.

    In the order of the ranges, then by step; of several revisions the newest last.
    """
    if not ranges:
        return []
    threads, branches, low, high = (list(part) for part in zip(*ranges, strict=True))
    params = (threads, branches, low, high, position.node, position.index, position.key, limit)
    return [activity_of(row[1:]) for row in rows(_AT_PLACE, params)]


def settled(thread_id: UUID, activity_id: UUID) -> tuple[str, str] | None:
    """(verdict, hash of the arguments it is about) that people last gave about an effect."""
    result: list[Any] = rows(
        "SELECT data ->> 'verdict', coalesce(data ->> 'args_hash', '') FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'effect.settled' "
        "AND data ->> 'activity' = %s::text ORDER BY seq DESC LIMIT 1",
        (thread_id, str(activity_id)),
    )
    return (result[0][0], result[0][1]) if result else None
