"""The only reader of endpoints and deliveries for upper floors; no address, no secret comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.errors import NotFound
from checkpoints.state import deltas

# So many are counted, then it is "at least".
COUNT_CAP = 10_000


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """An endpoint as people may see it; `open`, `failed` and `late` count its deliveries.

    `secrets` is [{since, until}]: that there are some, not what they are. `late`: those that were
    tried and have not arrived yet.
    """

    id: UUID
    workspace: UUID
    kind: str
    name: str
    target: str
    events: list[str]
    digest: int
    people: list[str]
    teams: list[str]
    active: bool
    made_by: str
    created_at: datetime
    secrets: list[dict[str, Any]]
    open: int
    late: int
    failed: int
    last_done_at: datetime | None
    last_error: str


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """One news for one recipient; `state` is open, done, skipped or failed."""

    id: UUID
    endpoint: UUID
    news: UUID
    kind: str
    recipient: str
    state: str
    attempts: int
    code: int | None
    error: str
    skipped: str
    created_at: datetime
    next_at: datetime
    done_at: datetime | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the outbox is behind: news that nobody took, deliveries past their time, failures."""

    news: int
    news_seconds: float
    deliveries: int
    delivery_seconds: float
    failed: int


_ENDPOINT = """
SELECT e.id, e.workspace_id, e.kind, e.name, e.target, e.events::text, e.digest, e.people::text,
  e.teams::text, e.active, e.made_by, e.created_at,
  (SELECT coalesce(jsonb_agg(s - 'secret'), '[]') FROM jsonb_array_elements(e.secrets) s)::text,
  w.open, w.late, f.failed, l.done_at, coalesce(b.error, '')
FROM gp_endpoint e
CROSS JOIN LATERAL (SELECT count(*) AS open, count(*) FILTER (WHERE x.error <> '') AS late
  FROM (SELECT error FROM gp_delivery WHERE endpoint_id = e.id AND done_at IS NULL
  AND failed_at IS NULL LIMIT %(cap)s) x) w
CROSS JOIN LATERAL (SELECT count(*) AS failed FROM (SELECT 1 FROM gp_delivery
  WHERE endpoint_id = e.id AND failed_at > clock_timestamp() - interval '7 days'
  LIMIT %(cap)s) x) f
LEFT JOIN LATERAL (SELECT done_at FROM gp_delivery WHERE endpoint_id = e.id
  AND done_at IS NOT NULL AND skipped = '' ORDER BY done_at DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT error FROM gp_delivery WHERE endpoint_id = e.id AND error <> ''
  ORDER BY id DESC LIMIT 1) b ON true
"""


_LAG = """
SELECT n.count, n.seconds, d.count, d.seconds, f.count FROM
(SELECT count(*) AS count, greatest(coalesce(extract(epoch FROM clock_timestamp() - min(x.at)), 0),
  0)::float8 AS seconds FROM (SELECT at FROM gp_outbox WHERE done_at IS NULL
  ORDER BY at, id LIMIT %(cap)s) x) n,
(SELECT count(*) AS count, greatest(coalesce(extract(epoch FROM clock_timestamp() - min(x.next_at)),
  0), 0)::float8 AS seconds FROM (SELECT v.next_at FROM gp_delivery v JOIN gp_endpoint e
  ON e.id = v.endpoint_id AND e.active WHERE v.done_at IS NULL AND v.failed_at IS NULL
  AND v.next_at <= clock_timestamp() LIMIT %(cap)s) x) d,
(SELECT count(*) AS count FROM (SELECT 1 FROM gp_delivery WHERE failed_at IS NOT NULL
  LIMIT %(cap)s) x) f
"""


def endpoints(*, workspace: UUID) -> list[EndpointRow]:
    """A workspace's endpoints by name."""
    return _endpoints(
        "WHERE e.workspace_id = %(workspace)s::uuid ORDER BY e.name", workspace=workspace
    )


def endpoint(endpoint_id: UUID, *, workspace: UUID) -> EndpointRow:
    """One endpoint; raises NotFound for unknown ids and those of other workspaces alike."""
    found = _endpoints(
        "WHERE e.id = %(id)s::uuid AND e.workspace_id = %(workspace)s::uuid",
        id=endpoint_id,
        workspace=workspace,
    )
    if not found:
        raise NotFound("There is no such endpoint in this workspace.")
    return found[0]


def troubled(*, limit: int = 5) -> list[EndpointRow]:
    """Active endpoints of all workspaces where something failed lately or is tried again."""
    return _endpoints(
        "WHERE e.active AND (w.late > 0 OR f.failed > 0) ORDER BY f.failed DESC, e.id LIMIT %(n)s",
        n=limit,
    )


def deliveries(endpoint_id: UUID, *, workspace: UUID, limit: int = 20) -> list[DeliveryRow]:
    """The newest deliveries of an endpoint."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, endpoint_id, news_id, kind, recipient, CASE WHEN failed_at IS NOT NULL "
            "THEN 'failed' WHEN done_at IS NULL THEN 'open' WHEN skipped <> '' THEN 'skipped' "
            "ELSE 'done' END, attempts, code, error, skipped, created_at, next_at, done_at, "
            "failed_at FROM gp_delivery WHERE endpoint_id = %s::uuid AND workspace_id = %s::uuid "
            "ORDER BY id DESC LIMIT %s",
            (endpoint_id, workspace, limit),
        )
        return [DeliveryRow(*row) for row in cursor.fetchall()]


def mails() -> bool:
    """Whether any active endpoint sends mail."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM gp_endpoint WHERE active AND kind = 'email')")
        return bool(cursor.fetchone()[0])


def lag() -> Lag:
    """Of all workspaces: one bounded statement."""
    with connection.cursor() as cursor:
        cursor.execute(_LAG, {"cap": COUNT_CAP})
        return Lag(*cursor.fetchone())


def _endpoints(where: str, **params: Any) -> list[EndpointRow]:
    with connection.cursor() as cursor:
        cursor.execute(_ENDPOINT + where, {"cap": COUNT_CAP, **params})
        found = []
        for row in cursor.fetchall():
            values = list(row)
            for column in (5, 7, 8, 12):
                values[column] = deltas.decode(values[column])
            found.append(EndpointRow(*values))
    return found
