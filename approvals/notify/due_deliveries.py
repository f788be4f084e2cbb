"""Which delivery is due for whom, and what became of it; every change is one short transaction.

A claim names the sender who is at a delivery for a while; if they are killed, it becomes due again
when the claim has run out. Nothing is held while a message is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from uuid_utils.compat import uuid4

from checkpoints.state import deltas

from .texts.kinds import TEST, NotDelivered

# At once on their way to one endpoint, over all senders: one that hangs holds no more than these.
AT_ONCE: Final = 4
LISTED_MAX: Final = 100
OPEN: Final = "done_at IS NULL AND failed_at IS NULL"


@dataclass(frozen=True, slots=True)
class Claim:
    """Deliveries for one recipient that go out as one message; `news` in the order they came."""

    id: UUID
    workspace: UUID
    endpoint: UUID
    kind: str
    target: str
    address: str = field(repr=False)
    secrets: Sequence[dict[str, Any]] = field(repr=False)
    recipient: str
    webhook_id: str
    deliveries: tuple[UUID, ...]
    news: tuple[tuple[UUID, str], ...]  # (id, kind)
    now: datetime


_NEXT = f"""
SELECT e.id, e.workspace_id, e.kind, e.target, e.address, e.secrets::text, e.digest,
  clock_timestamp()
FROM gp_endpoint e CROSS JOIN LATERAL (
  SELECT d.next_at AS at FROM gp_delivery d WHERE d.endpoint_id = e.id
  AND d.{OPEN.replace("AND ", "AND d.")} AND d.next_at <= clock_timestamp()
  AND (d.claimed_until IS NULL OR d.claimed_until <= clock_timestamp())
  ORDER BY d.next_at LIMIT 1) first
WHERE e.active AND e.id <> ALL(%s::uuid[]) AND (SELECT count(*) FROM gp_delivery d
  WHERE d.endpoint_id = e.id AND d.claim IS NOT NULL
  AND d.claimed_until > clock_timestamp()) < %s
ORDER BY first.at LIMIT 1 FOR NO KEY UPDATE OF e SKIP LOCKED
"""
# Nothing else for a recipient while something is on its way to them: a flood has to be seen whole.
_DUE = f"""
SELECT d.id, d.recipient, d.webhook_id, d.news_id, d.kind FROM gp_delivery d
WHERE d.endpoint_id = %s::uuid AND d.{OPEN.replace("AND ", "AND d.")}
  AND d.next_at <= clock_timestamp()
  AND (d.claimed_until IS NULL OR d.claimed_until <= clock_timestamp())
  AND (%s::boolean OR NOT EXISTS (SELECT 1 FROM gp_delivery o WHERE o.endpoint_id = d.endpoint_id
    AND o.recipient = d.recipient AND o.done_at IS NULL AND o.failed_at IS NULL
    AND o.claimed_until > clock_timestamp()))
  AND (%s::varchar IS NULL OR d.recipient = %s::varchar)
ORDER BY d.next_at, d.id LIMIT %s
"""


def claim() -> Claim | None:
    """Take what is due next; None when nothing is, or only what has to wait for its digest."""
    busy: list[UUID] = []  # endpoints whose due recipients are all being served
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_NEXT, (busy, AT_ONCE))
            endpoint = cursor.fetchone()
            if endpoint is None:
                return None
            ident, workspace, kind, target, address, secrets, digest, now = endpoint
            found = _due(ident, parallel=kind == "webhook", limit=1)
            if not found:
                busy.append(ident)
                continue
            if kind != "webhook" and digest and found[0][4] != TEST:
                recipient = found[0][1]
                found = _due(ident, parallel=False, limit=LISTED_MAX, recipient=recipient)
                found = [row for row in found if row[4] != TEST]
                held, found = _held(ident, recipient, found, minutes=digest)
                if held:
                    continue
            return _taken(
                found,
                workspace=workspace,
                endpoint=ident,
                kind=kind,
                target=target,
                address=address,
                secrets=deltas.decode(secrets),
                now=now,
            )


def _due(
    endpoint: UUID, *, parallel: bool, limit: int, recipient: str | None = None
) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_DUE, (endpoint, parallel, recipient, recipient, limit))
        return list(cursor.fetchall())


def _held(
    endpoint: UUID, recipient: str, due: list[tuple[Any, ...]], *, minutes: int
) -> tuple[bool, list[tuple[Any, ...]]]:
    """(whether all of it has to wait for its digest, else what goes out now as one message).

    A recipient gets GATEPOST_DIGEST_AFTER messages within the window; what comes after that waits
    until the first of them lies outside it, then goes out together. A request that must be decided
    before that is not held back.
    """
    most = int(settings.GATEPOST_DIGEST_AFTER)
    ids = [row[0] for row in due]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), min(at) FROM (SELECT max(done_at) AS at FROM gp_delivery "
            "WHERE endpoint_id = %s::uuid AND recipient = %s::varchar AND skipped = '' "
            "AND done_at > clock_timestamp() - make_interval(mins => %s) "
            "GROUP BY parcel ORDER BY 1 DESC LIMIT %s) x",
            (endpoint, recipient, minutes, most),
        )
        sent, first = cursor.fetchone()
        if sent < most:
            return False, due if len(due) > most else due[:1]
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM gp_delivery d JOIN gp_outbox n ON n.id = d.news_id "
            "JOIN gp_approval a ON a.id = n.approval_id WHERE d.id = ANY(%s::uuid[]) "
            "AND a.status = 'pending' AND coalesce(a.decide_by, a.deadline) "
            "< %s::timestamptz + make_interval(mins => %s))",
            (ids, first, minutes),
        )
        if cursor.fetchone()[0]:
            return False, due
        cursor.execute(
            "UPDATE gp_delivery SET next_at = %s::timestamptz + make_interval(mins => %s) "
            f"WHERE id = ANY(%s::uuid[]) AND {OPEN}",
            (first, minutes, ids),
        )
    return True, []


def _taken(found: Sequence[tuple[Any, ...]], **endpoint: Any) -> Claim:
    made = uuid4()
    ids = tuple(row[0] for row in found)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET claim = %s::uuid, attempts = attempts + 1, claimed_until = "
            "clock_timestamp() + make_interval(secs => %s) WHERE id = ANY(%s::uuid[])",
            (made, claim_seconds(), list(ids)),
        )
    return Claim(
        id=made,
        recipient=found[0][1],
        webhook_id=found[0][2],
        deliveries=ids,
        news=tuple((row[3], row[4]) for row in found),
        **endpoint,
    )


def claim_seconds() -> float:
    """How long a claim holds without being renewed."""
    return float(settings.GATEPOST_SEND_SECONDS) * 2 + 5


def renew(claims: Sequence[UUID]) -> None:
    """Keep claims whose messages are still on their way: a slow server is no dead sender."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET claimed_until = clock_timestamp() + make_interval(secs => %s) "
            f"WHERE claim = ANY(%s::uuid[]) AND {OPEN}",
            (claim_seconds(), list(claims)),
        )


def move_deliveries(seconds: float) -> None:
    """Let open deliveries follow a step of the clock; one that is early does no harm."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET next_at = next_at + make_interval(secs => %s), "
            f"claimed_until = claimed_until + make_interval(secs => %s) WHERE {OPEN} "
            "AND (next_at > clock_timestamp() OR claimed_until > clock_timestamp())",
            (seconds, seconds),
        )


def note_done(claimed: Claim, *, code: int | None = None, skipped: str = "") -> bool:
    """The message arrived, or is of no use any more (`skipped` says why); False: too late."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET done_at = clock_timestamp(), claim = NULL, parcel = claim, "
            "claimed_until = NULL, code = %s::smallint, error = '', skipped = %s::varchar "
            f"WHERE claim = %s::uuid AND {OPEN}",
            (code, skipped[:100], claimed.id),
        )
        return bool(cursor.rowcount)


def note_failure(claimed: Claim, error: NotDelivered) -> bool:
    """It did not arrive: later again, with a little chance in it, or failed for good."""
    pauses = [float(pause) for pause in settings.GATEPOST_DELIVERY_PAUSES]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET claim = NULL, claimed_until = NULL, code = %s::smallint, "
            "error = %s::varchar, failed_at = CASE WHEN %s::boolean "
            "OR attempts > cardinality(%s::float8[]) THEN clock_timestamp() END, next_at = "
            "clock_timestamp() + make_interval(secs => greatest(%s::float8, "
            "coalesce((%s::float8[])[attempts], 0) * (0.75 + 0.5 * random()))) "
            f"WHERE claim = %s::uuid AND {OPEN}",
            (
                error.code,
                error.said[:300],
                error.final,
                pauses,
                error.retry_after,
                pauses,
                claimed.id,
            ),
        )
        return bool(cursor.rowcount)
