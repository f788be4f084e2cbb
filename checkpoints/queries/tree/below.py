"""The threads under a thread, whole: for capsules."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from checkpoints.postgres.sql_files import sql_file

from ..rows import rows

SQL = sql_file(__file__)


def threads_below(thread: UUID) -> list[UUID]:
    """All threads of the tree under a thread, parents before their children."""
    return [ident for (ident,) in rows(SQL.below, (thread, thread))]


def next_below(thread: UUID) -> list[UUID]:
    """Threads that a thread started itself, or handed over to."""
    return [ident for (ident,) in rows(SQL.next, (thread, thread))]


def named_by(threads: Iterable[UUID]) -> set[str]:
    """The ids of threads that these threads started or handed over to, as their logs say."""
    return {ident for (ident,) in rows(SQL.named, (list(threads),))}
