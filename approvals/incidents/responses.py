"""What people do about an incident: take it, give it back, snooze it, wake it, close it.

Each verb is one guarded UPDATE with its entry in the workspace's log, which records what people set
as it stood before and as it stands after.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.log import recorded
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.states import WorkspaceEventKind as K

from ..notify.texts.incident_kinds import SNOOZE_MAX
from .queries import IncidentRow, incident

# The columns that people set, as the sweep leaves them.
UNTOUCHED: Final[recorded.Columns] = {
    "taken_by": "",
    "taken_at": None,
    "snoozed_until": None,
    "snoozed_by": "",
    "closed_at": None,
    "closed_by": "",
    "close_reason": "",
}
# The sweep closes an incident in the transaction in which its last thread is well again. Any other
# one that is closed was closed by a person, and any other one that is open was opened past the log.
CLOSED_AT: Final = (
    "CASE WHEN t.closed_by <> '' OR (t.closed_at IS NULL) <> (t.affected > 0) "
    f"THEN coalesce({recorded.TIME.format(c='closed_at')}, 'open') END"
)
_TAKEN: Final = ("taken_by", "taken_at")
_SNOOZED: Final = ("snoozed_until", "snoozed_by")
_CHANGED: Final = {
    K.INCIDENT_TAKEN: _TAKEN,
    K.INCIDENT_RELEASED: _TAKEN,
    K.INCIDENT_SNOOZED: _SNOOZED,
    K.INCIDENT_WOKEN: _SNOOZED,
    K.INCIDENT_CLOSED: ("closed_at", "closed_by", "close_reason"),
}
_OPEN = "id = %s::uuid AND workspace_id = %s::uuid AND closed_at IS NULL"


def take(ident: UUID, *, workspace: UUID, person: str, actor: str) -> IncidentRow:
    """Note that a person takes care of it; NotAllowedNow where another does, or it is closed."""
    with transaction.atomic():
        was = _locked(ident, workspace)
        done = _do(
            "UPDATE gp_incident SET taken_by = %s::varchar, taken_at = clock_timestamp() "
            f"WHERE {_OPEN} AND taken_by = ''",
            (person, ident, workspace),
        )
        row = incident(ident, workspace=workspace)
        if not done and row.closed_at is None and row.taken_by == person:
            return row
        _refuse_unless(done, row, "This incident is assigned to somebody else.")
        _log(K.INCIDENT_TAKEN, row, actor, was)
    return row


def give_back(ident: UUID, *, workspace: UUID, person: str, actor: str) -> IncidentRow:
    """Note that the person no longer takes care of it; NotAllowedNow where they did not."""
    with transaction.atomic():
        was = _locked(ident, workspace)
        done = _do(
            f"UPDATE gp_incident SET taken_by = '', taken_at = NULL WHERE {_OPEN} "
            "AND taken_by = %s::varchar",
            (ident, workspace, person),
        )
        row = incident(ident, workspace=workspace)
        _refuse_unless(done, row, "This incident isn't assigned to you.")
        _log(K.INCIDENT_RELEASED, row, actor, was)
    return row


def snooze(
    ident: UUID, until: datetime, *, workspace: UUID, person: str, actor: str
) -> IncidentRow:
    """Let nobody be sent news of it before `until`, and remind them then if it is still open."""
    (row,) = fetch_named(
        "SELECT %s::timestamptz > clock_timestamp() AND %s::timestamptz <= clock_timestamp() "
        "+ make_interval(secs => %s) AS good",
        (until, until, SNOOZE_MAX),
    )
    if not row.good:
        raise InvalidValue("until", f"must be in the next {SNOOZE_MAX // 86_400} days")
    with transaction.atomic():
        was = _locked(ident, workspace)
        done = _do(
            "UPDATE gp_incident SET snoozed_until = %s::timestamptz, snoozed_by = %s::varchar "
            f"WHERE {_OPEN}",
            (until, person, ident, workspace),
        )
        row = incident(ident, workspace=workspace)
        _refuse_unless(done, row, "")
        _log(K.INCIDENT_SNOOZED, row, actor, was, until=until.astimezone(UTC).isoformat())
    return row


def wake(ident: UUID, *, workspace: UUID, actor: str) -> IncidentRow:
    """End its snooze before the time; NotAllowedNow where it is not snoozed. Nobody is reminded."""
    with transaction.atomic():
        was = _locked(ident, workspace)
        done = _do(
            "UPDATE gp_incident SET snoozed_until = NULL, snoozed_by = '' "
            f"WHERE {_OPEN} AND snoozed_until > clock_timestamp()",
            (ident, workspace),
        )
        row = incident(ident, workspace=workspace)
        _refuse_unless(done, row, "This incident is not snoozed.")
        _log(K.INCIDENT_WOKEN, row, actor, was)
    return row


def close(ident: UUID, *, workspace: UUID, person: str, reason: str, actor: str) -> IncidentRow:
    """Close it also while threads are affected; the next one that fails alike opens another."""
    with transaction.atomic():
        was = _locked(ident, workspace)
        done = _do(
            "UPDATE gp_incident SET closed_at = clock_timestamp(), closed_by = %s::varchar, "
            f"close_reason = %s::text WHERE {_OPEN}",
            (person, reason, ident, workspace),
        )
        row = incident(ident, workspace=workspace)
        _refuse_unless(done, row, "")
        # Nobody looks after its threads now.
        _do(
            "UPDATE gp_incident_thread SET left_at = clock_timestamp() "
            "WHERE incident_id = %s::uuid AND left_at IS NULL",
            (ident,),
        )
        _log(K.INCIDENT_CLOSED, row, actor, was, reason=reason)
    return row


def recorded_rows(idents: Sequence[str]) -> dict[str, recorded.Columns]:
    """Those of some incidents about which people did something, as an event records them."""
    table = recorded.tables()["gp_incident"]
    rows = recorded.read(table, idents)
    return {ident: row for ident, row in rows.items() if not table.is_untouched(row)}


def log_dropped(workspace: UUID, was: dict[str, recorded.Columns], *, days: float) -> None:
    """Log that incidents about which people did something are dropped; `was` are their rows."""
    data = {"incidents": sorted(was), "days": int(days)}
    change = RowChange({"gp_incident": sorted(was)}, columns=(), was={"gp_incident": {**was}})
    store.log_setting(K.INCIDENT_DROPPED, workspace, data=data, actor="sweep", change=change)


def _locked(ident: UUID, workspace: UUID) -> recorded.Rows:
    """Lock the incident's row and read what people set in it, as it was before this change."""
    _do(
        "SELECT 1 FROM gp_incident WHERE id = %s::uuid AND workspace_id = %s::uuid "
        "FOR NO KEY UPDATE",
        (ident, workspace),
    )
    return recorded.rows_now({"gp_incident": [ident]})


def _refuse_unless(done: int, row: IncidentRow, otherwise: str) -> None:
    if done:
        return
    if row.closed_at is not None:
        raise NotAllowedNow("This incident is already closed.")
    raise NotAllowedNow(otherwise)


def _log(kind: K, row: IncidentRow, actor: str, was: recorded.Rows, **more: Any) -> None:
    data = {"incident": str(row.id), "agent": row.agent, "trouble": row.kind, **more}
    # With the row before it the event proves what it changes as well: see `recorded.RowChange`.
    change = RowChange({"gp_incident": [row.id]}, columns=_CHANGED[kind], was=was)
    store.log_setting(kind, row.workspace, data=data, actor=actor, change=change)


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
