"""What inbound hooks carry here: who may, which ids came before, and what they were answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.postgres.named_rows import fetch_named, named_rows
from checkpoints.states import WorkspaceEventKind as K

from .stored_secrets import readable_secrets

BODY_MAX: Final = 1024 * 1024  # bytes of a delivery


@dataclass(frozen=True, slots=True)
class Presented:
    """An active hook as its endpoint needs it; `now` is the database's clock."""

    id: UUID
    workspace: UUID
    workspace_name: str
    name: str
    secrets: tuple[str, ...] = field(repr=False)
    now: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """An earlier delivery of one id; `answer` is the JSON text of our response."""

    body_hash: bytes
    status: int
    answer: str


def presented(ident: UUID) -> Presented | None:
    """The hook, with the secrets that hold at this moment; None for unknown and disabled ones."""
    rows = fetch_named(
        "SELECT h.id, h.workspace_id AS workspace, w.name AS workspace_name, h.name, "
        "ARRAY(SELECT s ->> 'secret' FROM jsonb_array_elements(h.secrets) s "
        "WHERE s ->> 'until' IS NULL OR (s ->> 'until')::timestamptz > clock_timestamp()) "
        "AS secrets, clock_timestamp() AS now "
        "FROM gp_hook h JOIN gp_workspace w ON w.id = h.workspace_id "
        "WHERE h.id = %s::uuid AND h.active",
        (ident,),
    )
    if not rows:
        return None
    columns = rows[0]._asdict()
    return Presented(**columns | {"secrets": readable_secrets(columns["secrets"], ident)})


def take(hook: UUID, webhook_id: str) -> Delivery | None:
    """Hold this id until the end of the open transaction; what came under it before.

    Of two concurrent copies of a delivery the second waits here and returns the first one's answer.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("take belongs into the transaction that answers the delivery")
    with connection.cursor() as cursor:
        # A lock without a row: the row itself is written once, with its answer, and stays.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, 0))",
            (f"gatepost.hook:{hook}:{webhook_id}",),
        )
        # A statement of its own: it sees what was committed while the lock was waited for.
        cursor.execute(
            "SELECT body_hash, status, answer FROM gp_hook_delivery "
            "WHERE hook_id = %s::uuid AND webhook_id = %s::varchar",
            (hook, webhook_id),
        )
        rows = named_rows(cursor)
    if not rows:
        return None
    [row] = rows
    return Delivery(bytes(row.body_hash), row.status, row.answer)


def keep(
    hook: Presented,
    webhook_id: str,
    *,
    body_hash: bytes,
    approval: UUID,
    actor: str,
    status: int,
    answer: str,
) -> None:
    """Note the answer of a delivery, in the transaction of what it did."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_hook_delivery (id, workspace_id, hook_id, webhook_id, body_hash, "
            "approval_id, actor, status, answer) VALUES (%s::uuid, %s::uuid, %s::uuid, "
            "%s::varchar, %s::bytea, %s::uuid, %s::varchar, %s::smallint, %s::text)",
            (
                uuid7(),
                hook.workspace,
                hook.id,
                webhook_id,
                body_hash,
                approval,
                actor,
                status,
                answer,
            ),
        )


def note_refused(hook: Presented, why: str) -> None:
    """Record in the workspace's log that a delivery was refused, at most once a minute and hook.

    A flood of refused calls writes one row a minute, and waits for no lock.
    """
    # Two transactions: who changes a hook holds the workspace first, and the hook after it.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_hook SET refused = refused + 1, refused_at = clock_timestamp() WHERE id = ("
            "SELECT id FROM gp_hook WHERE id = %s::uuid AND (refused_at IS NULL OR "
            "refused_at < clock_timestamp() - interval '1 minute') "
            "FOR NO KEY UPDATE SKIP LOCKED)",
            (hook.id,),
        )
        is_noted = bool(cursor.rowcount)
    if is_noted:
        data = {"hook": str(hook.id), "name": hook.name, "why": why[:300]}
        actor = f"hook:{hook.name}"
        with transaction.atomic():
            store.log_setting(K.HOOK_REFUSED, hook.workspace, data=data, actor=actor, change=None)
