"""What waits for people, as numbers and ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file

SQL = sql_file(__file__)
OPEN_CAP = 1_000  # open requests are shown as a number up to this


def open_count(*, workspace: UUID) -> int:
    """Count the open requests, up to OPEN_CAP + 1."""
    (row,) = fetch_named(SQL.open_count, (workspace, OPEN_CAP + 1))
    return int(row.n)


def overdue(*, seconds: float) -> int:
    """Count the open requests of all workspaces more than `seconds` past their deadline."""
    (row,) = fetch_named(SQL.overdue, (seconds,))
    return int(row.n)


def inbox_mark(*, workspace: UUID) -> tuple[int, tuple[Any, ...]]:
    """(microseconds of the database's clock, a value that differs when the inbox moved)."""
    (row,) = fetch_named(SQL.inbox_mark, {"workspace": workspace})
    return row.now, (row.requested, row.decided, row.n, row.total)


def open_ids(*, workspace: UUID) -> list[UUID]:
    """The first 1,000 open requests in the order of the inbox."""
    return [row.id for row in fetch_named(SQL.open_ids, (workspace,))]


def first_open(thread_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """{thread: its oldest open request} for those of these threads that have one."""
    return {row.thread: row.id for row in fetch_named(SQL.first_open, (list(thread_ids),))}
