"""Calls that are done once: under a key of the caller's choice a change has one answer.

The key is taken in the transaction of the change, before anything else. Of many same calls at
once the first to take it works; the others wait at the key and read its answer, or take the key
themselves when the first one failed and was rolled back. So a change without its answer, or an
answer without its change, is never in the database.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable
from uuid_utils.compat import uuid7

from checkpoints.encryption.digests import fits_digest, keyed_digest
from checkpoints.log.remains import Part
from checkpoints.postgres.named_rows import named_rows
from checkpoints.postgres.sql_files import sql_file
from dashboard.errors import KeyReused, StillWorking

# More old keys are deleted than changes add, so that they never pile up.
SWEPT_EVERY, SWEPT_AT_ONCE = 16, 50
_changes = itertools.count()
BODY: Final = "idempotency"
SQL = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class Call:
    """A call under a key: its user, `POST /path`, and the canonical body."""

    workspace: UUID
    user_id: int
    key: str
    call: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """The recorded answer to a call: status, the headers that matter, JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any


def take(call: Call) -> Answer | None:
    """Take the key within the open transaction; None: it is ours, act and `keep` the answer.

    Else the answer that the same call had. Raises KeyReused where the key belongs to another call,
    StillWorking where the first call did not end within this connection's lock_timeout.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute(
                "INSERT INTO gp_idempotency_key (id, workspace_id, user_id, key, call, body_hash, "
                "status, headers, answer) VALUES (%s::uuid, %s::uuid, %s::bigint, %s::varchar, "
                "%s::varchar, %s::bytea, 0, '{}', '') "
                "ON CONFLICT (workspace_id, user_id, key) DO NOTHING",
                (
                    *(uuid7(), call.workspace, call.user_id, call.key, call.call),
                    keyed_digest(BODY, call.body),
                ),
            )
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise StillWorking from error
            raise
        if cursor.rowcount:
            return None
        # A statement of its own: it sees what was committed while the insert waited.
        cursor.execute(
            "SELECT call, body_hash, status, headers::text, answer FROM gp_idempotency_key "
            "WHERE workspace_id = %s::uuid AND user_id = %s::bigint AND key = %s::varchar",
            (call.workspace, call.user_id, call.key),
        )
        rows = named_rows(cursor)
    if not rows:
        raise StillWorking  # swept between the two statements; the next try takes it anew
    [row] = rows
    if row.call != call.call or not fits_digest(bytes(row.body_hash), BODY, call.body):
        raise KeyReused(row.call)
    return Answer(row.status, json.loads(row.headers), json.loads(row.answer))


def keep(call: Call, answer: Answer) -> None:
    """Note the answer beside the key, in the same transaction as the change."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_idempotency_key SET status = %s::smallint, headers = %s::jsonb, "
            "answer = %s::text "
            "WHERE workspace_id = %s::uuid AND user_id = %s::bigint AND key = %s::varchar",
            (
                answer.status,
                json.dumps(dict(answer.headers)),
                # Text, not jsonb: a repeated answer has the same bytes, the order included.
                json.dumps(answer.data, ensure_ascii=False),
                call.workspace,
                call.user_id,
                call.key,
            ),
        )


def sweep_in_turn() -> None:
    """Sweep after the first change of a process, and then after each SWEPT_EVERY of them.

    No worker or timer needs to know this table.
    """
    if next(_changes) % SWEPT_EVERY == 0:
        sweep()


def sweep() -> int:
    """Delete some keys older than GATEPOST_IDEMPOTENCY_HOURS; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_idempotency_key WHERE id = ANY(ARRAY(SELECT id FROM gp_idempotency_key "
            "WHERE created_at < clock_timestamp() - make_interval(secs => %s) "
            "ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED))",
            (settings.GATEPOST_IDEMPOTENCY_HOURS * 3600, SWEPT_AT_ONCE),
        )
        return int(cursor.rowcount)


ERASED_PART = Part("idempotency", SQL.erase, SQL.count, {})
