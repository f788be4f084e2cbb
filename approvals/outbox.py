"""Outgoing news, written in the transaction of the change itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints.state import deltas
from checkpoints.store.statement.moves import Insert
from checkpoints.store.statement.text import RowSql

from .rules.headlines import SENTENCE

_BESIDE = RowSql(
    "gp_outbox",
    {
        "id": "%s::uuid",
        "workspace_id": "t.workspace_id",
        "kind": "%s::varchar",
        "thread_id": "t.id",
        "checkpoint_id": "t.head",
        "approval_id": "%s::uuid",
        "data": "%s::jsonb",
    },
)


def add(
    kind: str,
    *,
    workspace: UUID,
    thread: UUID | None,
    approval: UUID | None = None,
    data: Mapping[str, Any] | None = None,
) -> UUID:
    """Put news in the outbox, naming the thread's head as it stands; the id.

    Call it inside the transaction that makes the news true.
    """
    ident = uuid7()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_outbox (id, workspace_id, kind, thread_id, checkpoint_id, approval_id, "
            # The current proposal's hash: a program that receives it can decide without a read.
            "data) SELECT %s::uuid, %s::uuid, %s::varchar, about.id, th.head, %s::uuid, "
            "%s::jsonb || coalesce((SELECT jsonb_build_object('proposal_hash', "
            "coalesce(nullif(a.standing_hash, ''), a.proposal_hash)) || CASE "
            f"WHEN {SENTENCE} <> '' THEN jsonb_build_object('sentence', a.sentence) "
            "ELSE '{}' END FROM gp_approval a WHERE a.id = %s::uuid), '{}') "
            # News of a thread that is gone goes out as well.
            "FROM (SELECT %s::uuid AS id) about LEFT JOIN gp_thread th ON th.id = about.id",
            (
                ident,
                workspace,
                kind,
                approval,
                deltas.canonical(dict(data or {})).decode(),
                approval,
                thread,
            ),
        )
    return ident


def beside(kind: str, *, approval: UUID, data: Mapping[str, Any]) -> Insert:
    """The same as a row beside the event of its thread: one statement for both."""
    return Insert(_BESIDE, (uuid7(), kind, approval, deltas.canonical(dict(data)).decode()))
