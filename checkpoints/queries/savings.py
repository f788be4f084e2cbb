"""What going on from the record has spared: work that a restart from the input would do again.

It is counted once per fault (a worker that was lost, a failed thread that is retried) as all that
is recorded on the way to the head then, and stands in the event that ends the fault. See ADR 0021.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ..limits import CRASHES_ALLOWED
from ..states import EventKind
from ..views import SavedRow, ThreadRow
from .rows import rows

# The index gp_event_rare holds these kinds and those of `figures` (migration 0019).
RESUMING = (EventKind.LEASE_TAKEN_OVER, EventKind.THREAD_RETRIED)
# Of a workspace so many are added up: those of its newest threads.
NEWEST = 2_000
NOTHING = SavedRow(0, 0, 0, 0, "0", 0)

# What the head's way goes through in the thread itself: of each branch the steps up to where the
# next one left it, of the newest one also the step in progress.
_RECORDED = """
WITH RECURSIVE seg AS (
  SELECT th.id, th.branch, th.branch_start AS lo, th.step + 1 AS top FROM gp_thread th
  WHERE th.id = %s::uuid AND ({guard})
  UNION ALL
  SELECT s.id, p.branch, p.branch_start, p.step FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = s.id AND p.number = f.parent_number
  WHERE f.parent_thread = s.id
)
SELECT count(*), count(*) FILTER (WHERE x.kind = 'model'),
  coalesce(sum((x.usage ->> 'tokens')::bigint), 0)::bigint,
  trim_scale(coalesce(sum((x.usage ->> 'cost')::numeric), 0))::text,
  coalesce(sum(coalesce((x.usage ->> 'milliseconds')::bigint, CASE WHEN x.kind = 'effect'
    THEN extract(epoch FROM x.finished_at - x.started_at) * 1000 END)), 0)::bigint,
  (SELECT count(*) FROM seg)
FROM (SELECT DISTINCT ON (a.branch, a.step, a.node, a.index, a.key)
    a.kind, a.state, a.usage, a.started_at, a.finished_at
  FROM seg s JOIN gp_activity a ON a.thread_id = s.id AND a.branch = s.branch AND a.step <= s.top
  WHERE a.kind IN ('activity', 'model', 'effect')
  ORDER BY a.branch, a.step, a.node, a.index, a.key, a.revision DESC) x
WHERE x.state = 'done' AND NOT coalesce(x.usage ? 'reused_from', false)
"""
EXPIRED = "th.lease_until < clock_timestamp()"
# Waiting for people, other code, an unknown outcome: these are no faults of a worker or a step.
FAULTY = (
    f"th.status = 'failed' OR (th.status = 'attention' AND th.crash_count >= {CRASHES_ALLOWED})"
)
# The newest of each kind come in the order of the index, and so do all of them together.
_FAULTS_OF = " UNION ALL ".join(
    f"(SELECT thread_id, seq, data -> 'saved' AS s FROM gp_event WHERE kind = '{kind}' "
    "AND workspace_id = %(workspace)s::uuid {where} "
    "ORDER BY {order} LIMIT %(newest)s)"
    for kind in RESUMING
)
_SUMS = f"""
SELECT count(*), coalesce(sum((x.s ->> 'calls')::bigint), 0)::bigint,
  coalesce(sum((x.s ->> 'model_calls')::bigint), 0)::bigint,
  coalesce(sum((x.s ->> 'tokens')::bigint), 0)::bigint,
  trim_scale(coalesce(sum((x.s ->> 'cost')::numeric), 0))::text,
  coalesce(sum((x.s ->> 'milliseconds')::bigint), 0)::bigint
FROM (SELECT e.s FROM ({_FAULTS_OF}) e
  ORDER BY {{order}} LIMIT %(newest)s) x WHERE x.s IS NOT NULL
"""
_OF_THREAD = _SUMS.format(where="AND thread_id = %(thread)s::uuid", order="seq DESC")
_OF_FLEET = _SUMS.format(where="", order="thread_id DESC, seq DESC")


def recorded_work(thread_id: UUID, *, guard: str) -> SavedRow | None:
    """All that is recorded on the way to the head; None unless `guard` (of `th`) holds.

    Left out: what was abandoned by a rollback, what failed, and results that were taken over from
    another thread. Milliseconds are those of the calls.
    """
    *sums, there = rows(_RECORDED.format(guard=guard), (thread_id,))[0]
    return SavedRow(1, *sums) if there else None


def told(work: SavedRow | None) -> dict[str, Any]:
    """What the event that ends a fault says of it; nothing where nothing was recorded."""
    if work is None or not work.calls:
        return {}
    return {
        "saved": {
            "calls": work.calls,
            "model_calls": work.model_calls,
            "tokens": work.tokens,
            "cost": work.cost,
            "milliseconds": work.milliseconds,
        }
    }


def saved(thread: ThreadRow) -> SavedRow:
    """What a thread has not done again, added up over its faults; nothing before it went on."""
    if thread.fence < 2:
        return NOTHING
    asked = {"workspace": thread.workspace, "thread": thread.id, "newest": NEWEST}
    return SavedRow(*rows(_OF_THREAD, asked)[0])


def fleet_saved(*, workspace: UUID) -> SavedRow:
    """The same of all threads of a workspace, of the newest ones where there were many faults."""
    asked = {"workspace": workspace, "newest": NEWEST}
    return SavedRow(*rows(_OF_FLEET, asked)[0])
