"""Figures of all requests for monitoring: bounded statements, every workspace counts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from .states import VERDICTS

WORKSPACES, WAITING_CAP, DECISION_CAP = 1_000, 10_000, 100_000

_WAITING = """
SELECT coalesce(sum(found.n), 0)::bigint,
  coalesce(extract(epoch FROM clock_timestamp() - min(found.first))::float8, 0)
FROM (SELECT id FROM gp_workspace ORDER BY id LIMIT %s) w
CROSS JOIN LATERAL (SELECT count(*) AS n, min(x.requested_at) AS first FROM (SELECT requested_at
  FROM gp_approval a WHERE a.workspace_id = w.id AND a.status = 'pending'
  ORDER BY a.requested_at, a.id LIMIT %s) x) found
"""
_DECIDED = """
SELECT v.verdict, (SELECT count(*) FROM (SELECT 1 FROM gp_decision d
  WHERE d.verdict = v.verdict LIMIT %s) x) FROM unnest(%s::text[]) AS v(verdict)
"""


@dataclass(frozen=True, slots=True)
class ApprovalFigures:
    """Open requests, the age of the oldest in seconds, decisions so far by verdict."""

    waiting: int
    oldest_seconds: float
    decided: dict[str, int]


def figures() -> ApprovalFigures:
    """Read them: two statements."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, (WORKSPACES, WAITING_CAP + 1))
        waiting, oldest = cursor.fetchone()
        cursor.execute(_DECIDED, (DECISION_CAP, list(VERDICTS)))
        return ApprovalFigures(waiting, oldest, dict(cursor.fetchall()))
