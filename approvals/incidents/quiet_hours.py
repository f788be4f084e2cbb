"""Quiet hours: the only writer and reader of the hours in which news waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.states import WorkspaceEventKind as K

_COLUMNS: Final = "q.id, q.person, q.begins, q.ends, q.zone"


@dataclass(frozen=True, slots=True)
class QuietRow:
    """From `begins` to `ends` by the clock of `zone`, past midnight where `ends` is earlier."""

    id: UUID
    person: str
    begins: time
    ends: time
    zone: str

    def end_after(self, now: datetime) -> datetime | None:
        """The end of the quiet hours that hold at this moment; None outside of them.

        Where a clock is put back they last from the first `begins` to the second `ends`; a time
        that a clock put forward leaves out counts by the clock before.
        """
        zone = ZoneInfo(self.zone)
        today = now.astimezone(zone).date()
        for day in (today - timedelta(days=1), today):
            last = day if self.begins < self.ends else day + timedelta(days=1)
            # Compared in UTC: times of one time zone compare by what their clocks show.
            begin = datetime.combine(day, self.begins, tzinfo=zone).astimezone(UTC)
            end = _second(last, self.ends, zone)
            if begin <= now.astimezone(UTC) < end:
                return end
        return None


def _second(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """The instant at which a clock shows a time on a day; the second where it does so twice."""
    first, second = (datetime.combine(day, clock.replace(fold=n), tzinfo=zone) for n in (0, 1))
    return max(first.astimezone(UTC), second.astimezone(UTC))


def of_workspace(workspace: UUID) -> dict[str, QuietRow]:
    """{person: quiet hours} of those who have some."""
    rows = fetch_named(
        f"SELECT {_COLUMNS} FROM gp_quiet_hours q WHERE q.workspace_id = %s::uuid", (workspace,)
    )
    return {row.person: QuietRow(*row) for row in rows}


def of_person(workspace: UUID, person: str) -> QuietRow | None:
    """The quiet hours of one person; None without."""
    return of_workspace(workspace).get(person)


def set_quiet_hours(
    workspace: UUID, person: str, begins: time, ends: time, zone: str, *, actor: str
) -> QuietRow:
    """Let news of incidents wait for a person from `begins` to `ends`; raises InvalidValue."""
    if zone not in available_timezones():
        raise InvalidValue("zone", "must be a time zone such as Europe/Berlin")
    if begins == ends:
        raise InvalidValue("ends", "must differ from the beginning")
    with transaction.atomic():
        former = _locked(workspace, person)
        if former is not None and (former.begins, former.ends, former.zone) == (begins, ends, zone):
            return former
        ident = uuid7() if former is None else former.id
        _do(
            "INSERT INTO gp_quiet_hours (id, workspace_id, person, begins, ends, zone) VALUES "
            "(%s::uuid, %s::uuid, %s::varchar, %s::time, %s::time, %s::varchar) "
            "ON CONFLICT (workspace_id, person) DO UPDATE SET begins = excluded.begins, "
            "ends = excluded.ends, zone = excluded.zone",
            (ident, workspace, person, begins, ends, zone),
        )
        data = {
            "person": person,
            "begins": f"{begins:%H:%M}",
            "ends": f"{ends:%H:%M}",
            "zone": zone,
        }
        columns = None if former is None else ("begins", "ends", "zone")
        change = RowChange({"gp_quiet_hours": [ident]}, columns=columns)
        store.log_setting(K.QUIET_HOURS_SET, workspace, data=data, actor=actor, change=change)
    return QuietRow(ident, person, begins, ends, zone)


def remove_quiet_hours(workspace: UUID, person: str, *, actor: str) -> bool:
    """Let news wait for a person no longer; False where none did."""
    with transaction.atomic():
        former = _locked(workspace, person)
        if former is None:
            return False
        change = RowChange({"gp_quiet_hours": [former.id]}, columns=())
        _do("DELETE FROM gp_quiet_hours WHERE id = %s::uuid", (former.id,))
        data = {"person": person}
        store.log_setting(K.QUIET_HOURS_REMOVED, workspace, data=data, actor=actor, change=change)
    return True


def _locked(workspace: UUID, person: str) -> QuietRow | None:
    # The log's row first: two first settings of one person come one after the other.
    store.lock_workspaces([workspace])
    return of_person(workspace, person)


def _do(sql: str, params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
