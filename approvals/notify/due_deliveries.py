"""Due deliveries, whom they are for, and their outcomes; every change is one short transaction.

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

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from .texts.kinds import TEST, NotDelivered

SQL = sql_file(__file__)
# Concurrent deliveries to one endpoint, over all senders: one that hangs holds only these.
AT_ONCE: Final = 4
LISTED_MAX: Final = 100
OPEN: Final = "done_at IS NULL AND failed_at IS NULL"


@dataclass(frozen=True, slots=True)
class Claim:
    """Deliveries for one recipient that go out as one message; `news` in the order they came.

    `address` and the secrets are as stored, which is ciphertext.
    """

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


def claim() -> Claim | None:
    """Take what is due next; None when nothing is, or only what has to wait for its digest."""
    busy: list[UUID] = []  # endpoints whose due recipients are all being served
    if not fetch_named(SQL.next_endpoint, (busy, AT_ONCE)):  # mostly: no transaction for that
        return None
    while True:
        with transaction.atomic():
            endpoints = fetch_named(SQL.next_endpoint, (busy, AT_ONCE))
            if not endpoints:
                return None
            (endpoint,) = endpoints
            due = _due(endpoint.id, parallel=endpoint.kind == "webhook", limit=1)
            if not due:
                busy.append(endpoint.id)
                continue
            if endpoint.kind != "webhook" and endpoint.digest and due[0].kind != TEST:
                recipient = due[0].recipient
                due = _due(endpoint.id, parallel=False, limit=LISTED_MAX, recipient=recipient)
                due = [row for row in due if row.kind != TEST]
                held, due = _held(endpoint.id, recipient, due, minutes=endpoint.digest)
                if held:
                    continue
            return _taken(endpoint, due)


def _due(endpoint: UUID, *, parallel: bool, limit: int, recipient: str | None = None) -> list[Any]:
    return fetch_named(SQL.due_deliveries, (endpoint, parallel, recipient, recipient, limit))


def _held(
    endpoint: UUID, recipient: str, due: list[Any], *, minutes: int
) -> tuple[bool, list[Any]]:
    """(whether all of it has to wait for its digest, else what goes out now as one message).

    A recipient gets GATEPOST_DIGEST_AFTER messages within the window; what comes after that waits
    until the first of them lies outside it, then goes out together. A request that must be decided
    before that is not held back.
    """
    most = int(settings.GATEPOST_DIGEST_AFTER)
    ids = [row.id for row in due]
    (sent,) = fetch_named(SQL.sent_lately, (endpoint, recipient, minutes, most))
    if sent.messages < most:
        return False, due if len(due) > most else due[:1]
    if fetch_named(SQL.cannot_wait, (ids, sent.first, minutes))[0].urgent:
        return False, due
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET next_at = %s::timestamptz + make_interval(mins => %s) "
            f"WHERE id = ANY(%s::uuid[]) AND {OPEN}",
            (sent.first, minutes, ids),
        )
    return True, []


def _taken(endpoint: Any, due: Sequence[Any]) -> Claim:
    made = uuid4()
    ids = tuple(row.id for row in due)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET claim = %s::uuid, attempts = attempts + 1, claimed_until = "
            "clock_timestamp() + make_interval(secs => %s) WHERE id = ANY(%s::uuid[])",
            (made, claim_seconds(), list(ids)),
        )
    return Claim(
        id=made,
        workspace=endpoint.workspace_id,
        endpoint=endpoint.id,
        kind=endpoint.kind,
        target=endpoint.target,
        address=endpoint.address,
        secrets=deltas.decode(endpoint.secrets),
        recipient=due[0].recipient,
        webhook_id=due[0].webhook_id,
        deliveries=ids,
        news=tuple((row.news_id, row.kind) for row in due),
        now=endpoint.now,
    )


def claim_seconds() -> float:
    """Seconds that a claim holds without being renewed."""
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
    """The message arrived, or is no longer of use (`skipped` says why); False: too late."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_delivery SET done_at = clock_timestamp(), claim = NULL, parcel = claim, "
            "claimed_until = NULL, code = %s::smallint, error = '', skipped = %s::varchar "
            f"WHERE claim = %s::uuid AND {OPEN}",
            (code, skipped[:100], claimed.id),
        )
        return bool(cursor.rowcount)


def note_failure(claimed: Claim, error: NotDelivered) -> bool:
    """Record a failed attempt: due again after a pause with some jitter, or failed for good."""
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
                error.text[:300],
                error.final,
                pauses,
                error.retry_after,
                pauses,
                claimed.id,
            ),
        )
        return bool(cursor.rowcount)
