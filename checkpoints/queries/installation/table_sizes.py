"""Sizes of the tables of the installation, beside the events that they hold."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file

SQL = sql_file(__file__)
# Above this number events are estimated: a page need not count them.
COUNTED: Final = 100_000
RECENT_THREADS: Final = 1_000


@dataclass(frozen=True, slots=True)
class TableSizes:
    """{table: bytes with indexes} and events of the installation.

    `at` is when they were read, in seconds since 1970 by the database's clock. `cost` is what the
    calls of the last threads of a workspace cost, `recent_events` their events.
    """

    at: float
    tables: dict[str, int]
    events: int
    cost: Decimal
    recent_events: int


def table_sizes(*, workspace: UUID) -> TableSizes:
    """Read them by one statement, whose time does not grow with the tables."""
    (row,) = fetch_named(SQL.sizes, (COUNTED, COUNTED + 1, workspace, RECENT_THREADS))
    names = (name.removeprefix("gp_") for name in row.names)
    tables = dict(zip(names, row.bytes, strict=True))
    return TableSizes(row.at, tables, row.events, row.cost, row.recent_events)
