"""Vectors of memories: written once they are made, and marked where a store outside has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from checkpoints.postgres.guarded_rows import set_aside
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.vectors import PART, StoredRow, WaitingText

SQL: Final = sql_file(__file__)


def save_vectors(rows: Sequence[tuple[WaitingText, bytes]], *, model: str) -> int:
    """Keep vectors, unless their memories were corrected or forgotten meanwhile; how many."""
    params: dict[str, Any] = {
        "ids": [row.id for row, _ in rows],
        "revisions": [row.revision for row, _ in rows],
        "vectors": [vector for _, vector in rows],
        "model": model,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL.save, params)
        return int(cursor.rowcount)


def set_text_aside(ident: UUID, *, error: Exception) -> None:
    """Let a text whose vector can't be made wait, so that others are made meanwhile."""
    set_aside(PART, ident, thread=None, error=error)


def mark_stored(rows: Sequence[StoredRow], *, store: str) -> None:
    """Note that a store has these rows as they were read; one that has changed is sent again."""
    params: dict[str, Any] = {
        "ids": [row.id for row in rows],
        "xids": [row.xid for row in rows],
        "store": store,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL.stored, params)
