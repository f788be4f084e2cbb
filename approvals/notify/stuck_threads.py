"""Threads that stand still though nobody is asked and nothing is due: news for whoever wants it."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

# One news per standstill: it counts from the newest event or change of status.
_STUCK = """
INSERT INTO gp_outbox (id, workspace_id, kind, thread_id, checkpoint_id, data)
SELECT gen_random_uuid(), th.workspace_id, 'thread.stuck', th.id, th.head,
  jsonb_build_object('status', th.status, 'agent', th.agent, 'title', th.title, 'name', th.name,
    'version', th.version, 'checkpoint_number', th.number, 'labels', th.labels,
    'reason', CASE th.status WHEN 'queued' THEN 'No worker has taken it.'
      ELSE 'Its worker has recorded nothing.' END,
    'seconds', floor(extract(epoch FROM clock_timestamp() - s.since)))
FROM gp_thread th
CROSS JOIN LATERAL (SELECT greatest(th.status_since, th.last_at) AS since) s
WHERE th.status IN ('queued', 'running', 'rolling_back')
  AND s.since < clock_timestamp() - make_interval(secs => %s)
  AND EXISTS (SELECT 1 FROM gp_endpoint e WHERE e.workspace_id = th.workspace_id
    AND e.active AND jsonb_exists(e.events, 'thread.stuck'))
  AND NOT EXISTS (SELECT 1 FROM gp_outbox n WHERE n.thread_id = th.id
    AND n.kind = 'thread.stuck' AND n.at > s.since)
ORDER BY s.since LIMIT %s
"""
BATCH = 200


def announce_stuck_threads(limit: int = BATCH) -> int:
    """Put each thread without an event for GATEPOST_STUCK_SECONDS in the outbox; how many."""
    with connection.cursor() as cursor:
        cursor.execute(_STUCK, (float(getattr(settings, "GATEPOST_STUCK_SECONDS", 900)), limit))
        return int(cursor.rowcount)
