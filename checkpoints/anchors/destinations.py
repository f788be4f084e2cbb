"""How far each destination has the anchors, and since when one is late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..tables.readers import record_of

SQL: Final = sql_file(__file__)
ERROR_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Progress:
    """A destination; `acknowledged` is the newest anchor that it has confirmed, 0 for none.

    `held_seconds`: how long events have waited that an older open transaction keeps out of anchors.
    """

    name: str
    acknowledged: int
    acknowledged_at: datetime | None
    created_at: datetime
    tried_at: datetime | None
    error: str
    alarmed_at: datetime | None
    now: datetime
    held_seconds: float

    @property
    def gap_seconds(self) -> float:
        """Seconds for which it has confirmed nothing."""
        return (self.now - (self.acknowledged_at or self.created_at)).total_seconds()

    @property
    def tried_seconds(self) -> float | None:
        """Seconds since it was tried; None before the first time."""
        return None if self.tried_at is None else (self.now - self.tried_at).total_seconds()


def standings(names: Sequence[str]) -> list[Progress]:
    """Those of these destinations that a worker has seen."""
    if not names:
        return []
    return [record_of(Progress, row) for row in fetch_named(SQL.standings, ([*names],))]


def begin(names: Sequence[str]) -> None:
    """Note destinations that are new, so that one that never confirms is late, too."""
    _do(
        "INSERT INTO gp_anchor_destination (name) SELECT unnest(%s::text[]) "
        "ON CONFLICT (name) DO NOTHING",
        ([*names],),
    )


def note_acknowledged(name: str, number: int) -> None:
    """Note that it has everything up to this anchor."""
    _do(
        "UPDATE gp_anchor_destination SET acknowledged = %s::bigint, acknowledged_at = "
        "clock_timestamp(), tried_at = clock_timestamp(), error = '' WHERE name = %s::varchar "
        "AND acknowledged <= %s::bigint",
        (number, name, number),
    )


def note_refused(name: str, error: str) -> None:
    """Note that it has not taken an anchor; it is tried again."""
    _do(
        "UPDATE gp_anchor_destination SET tried_at = clock_timestamp(), error = %s::varchar, "
        # A clock that stepped back must not put off the alarm until it has caught up.
        "acknowledged_at = CASE WHEN acknowledged_at IS NOT NULL "
        "THEN least(acknowledged_at, clock_timestamp()) END, "
        "created_at = least(created_at, clock_timestamp()) WHERE name = %s::varchar",
        (error[:ERROR_MAX], name),
    )


def note_alarm(name: str, *, late: bool) -> bool:
    """Mark that the alarm was raised, or is over; False where that stands already."""
    condition, value = ("IS NULL", "clock_timestamp()") if late else ("IS NOT NULL", "NULL")
    return _do(
        f"UPDATE gp_anchor_destination SET alarmed_at = {value} WHERE name = %s::varchar "
        f"AND alarmed_at {condition}",
        (name,),
    )


def keep_stamp(number: int, destination: str, token: bytes) -> None:
    """Keep the time stamp of an anchor."""
    _do(
        "INSERT INTO gp_anchor_stamp (number, destination, token) VALUES (%s::bigint, "
        "%s::varchar, %s::bytea) ON CONFLICT (number, destination) DO NOTHING",
        (number, destination, token),
    )


def stamps(number: int) -> Mapping[str, bytes]:
    """{destination: token} of an anchor."""
    rows: list[Any] = fetch_named(
        "SELECT destination, token FROM gp_anchor_stamp WHERE number = %s::bigint", (number,)
    )
    return {row.destination: bytes(row.token) for row in rows}


def _do(sql: str, params: Sequence[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return bool(cursor.rowcount)
