"""Threads that alone can answer a question, by an index, in place of a walk through all events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file

SQL: Final = sql_file(__file__)
THREADS_MAX: Final = 200
EVENTS_MAX: Final = 40_000  # a search looks at no more in any case
TRIGRAM: Final = 3  # characters; a shorter name has none


def threads_naming(payee: str, *, workspace: UUID) -> list[UUID] | None:
    """All threads in which a payee of this name may be; None where a walk is as good or better.

    That is a name of one or two characters, and one in threads enough to fill a page soon.
    """
    if len(payee) < TRIGRAM:
        return None
    params = {"payee": payee, "workspace": workspace, "most": THREADS_MAX + 1}
    return _few(fetch_named(SQL.named, params))


def threads_of(agent: str, *, workspace: UUID) -> list[UUID] | None:
    """All threads of an agent; None where they are enough to fill a page soon by a walk."""
    params = {"agent": agent, "workspace": workspace, "most": THREADS_MAX + 1}
    return _few(fetch_named(SQL.of_agent, params))


def _few(rows: Sequence[Any]) -> list[UUID] | None:
    if len(rows) > THREADS_MAX or sum(row.last_seq for row in rows) > EVENTS_MAX:
        return None
    return [row.id for row in rows]
