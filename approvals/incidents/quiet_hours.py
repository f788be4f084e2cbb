"""Quiet hours: the only writer and reader of the hours in which news waits for a person."""

from __future__ import annotations

from datetime import time
from uuid import UUID
from zoneinfo import available_timezones

from django.db import transaction

from checkpoints.errors import InvalidValue
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from .models import QuietHours


def of_workspace(workspace: UUID) -> dict[str, QuietHours]:
    """{person: quiet hours} of those who have some."""
    return {row.person: row for row in QuietHours.objects.filter(workspace_id=workspace)}


def of_person(workspace: UUID, person: str) -> QuietHours | None:
    """The quiet hours of one person; None without."""
    return QuietHours.objects.filter(workspace_id=workspace, person=person).first()


def set_quiet_hours(
    workspace: UUID, person: str, begins: time, ends: time, zone: str, *, actor: str
) -> QuietHours:
    """Let news of incidents wait for a person from `begins` to `ends`; raises InvalidValue."""
    if zone not in available_timezones():
        raise InvalidValue("zone", "must be a time zone such as Europe/Berlin")
    if begins == ends:
        raise InvalidValue("ends", "must differ from the beginning")
    values = {"person": person, "begins": begins, "ends": ends, "zone": zone}
    with transaction.atomic():
        row = recorded_rows.lock(QuietHours, workspace, person=person)
        row = row or QuietHours(workspace_id=workspace)
        data = values | {"begins": f"{begins:%H:%M}", "ends": f"{ends:%H:%M}"}
        recorded_rows.save(row, values, K.QUIET_HOURS_SET, actor=actor, data=data)
    return row


def remove_quiet_hours(workspace: UUID, person: str, *, actor: str) -> bool:
    """Let news wait for a person no longer; False where none did."""
    with transaction.atomic():
        row = recorded_rows.lock(QuietHours, workspace, person=person)
        if row is None:
            return False
        data = {"person": person}
        recorded_rows.delete(row, K.QUIET_HOURS_REMOVED, actor=actor, data=data)
    return True
