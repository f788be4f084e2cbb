"""What verifications find: the newest outcome of each record, and damage as a fact of the log.

Damage is noted when it is found and stays noted until a verification that looks at no less finds
the record intact; both are events of the workspace's own log, which says who found what and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.chain import ChainReport
from checkpoints.errors import NotFound
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.views import VerificationRow

from ..statement.moves import NewEvent
from .workspaces import log_record

_TABLES: Final = {
    "thread": ("gp_verification", "thread_id"),
    "workspace": ("gp_workspace_verification", "workspace_id"),
}


@dataclass(frozen=True, slots=True)
class Noted:
    """The current result; `news` is the kind of the event if the record was damaged or restored."""

    row: VerificationRow
    workspace: UUID | None
    news: K | None


def note_verification(
    report: ChainReport, *, actor: str, of: str = "thread", workspace: UUID | None = None
) -> Noted:
    """Keep the outcome in place of the former one, by the database's clock; raises NotFound.

    `workspace` is needed only of a thread that is gone. Damage stays noted where this verification
    found nothing and looked at less than the one that found it.
    """
    with transaction.atomic():
        workspace = _workspace(report.ident, of) or workspace or _noted(report.ident, of)
        if workspace is None:
            raise NotFound(f"There is no such {of}.")
        before = _locked(report, of, workspace, actor)
        new_place = not report.intact and before.is_new_place(report.first_broken_seq)
        looked_at_less = before.damaged and not before.checks <= set(report.checks)
        if looked_at_less and not new_place:
            row = _read(report, of)
        else:
            row = _written(report, of, before, actor)
        news = K.RECORD_DAMAGED if new_place else None
        if row.intact and before.damaged:
            news = K.RECORD_RESTORED
        if news is not None:
            _log(news, report, of, workspace, actor)
    return Noted(row, workspace, news)


def note_complete(workspace: UUID, n_events: int) -> None:
    """Keep that everything of a workspace was verified by now, and how many events that were."""
    _rows(
        "UPDATE gp_workspace_verification SET n_verified = %s::bigint, "
        "completed_at = clock_timestamp() WHERE workspace_id = %s::uuid RETURNING 1",
        (n_events, workspace),
    )


@dataclass(frozen=True, slots=True)
class _Before:
    """The result stored before; `seq` is where the record was broken."""

    damaged: bool
    seq: int | None
    checks: set[str]
    found_at: datetime | None
    found_by: str

    def is_new_place(self, seq: int | None) -> bool:
        """Answer True if damage there is news: the first, or before the known position."""
        return not self.damaged or (seq or 0) < (self.seq or 0)


def _workspace(ident: UUID, of: str) -> UUID | None:
    if of == "workspace":
        sql = "SELECT id FROM gp_workspace WHERE id = %s::uuid"
    else:
        sql = "SELECT workspace_id FROM gp_thread WHERE id = %s::uuid"
    rows = _rows(sql, (ident,))
    return rows[0][0] if rows else None


def _noted(ident: UUID, of: str) -> UUID | None:
    """The workspace in which a thread that is gone was last verified."""
    table, owner = _TABLES[of]
    rows = _rows(f"SELECT workspace_id FROM {table} WHERE {owner} = %s::uuid", (ident,))
    return rows[0][0] if rows and of == "thread" else None


def _locked(report: ChainReport, of: str, workspace: UUID, actor: str) -> _Before:
    """The former outcome, locked: the second of two concurrent writers sees that of the first."""
    table, owner = _TABLES[of]
    values: dict[str, Any] = {owner: report.ident, "workspace_id": workspace}
    _rows(
        f"INSERT INTO {table} ({', '.join(values)}, n_events, intact, what, checked_by, "
        f"checked_at) VALUES ({', '.join('%s::uuid' for _ in values)}, 0, true, '', %s::varchar, "
        f"clock_timestamp()) ON CONFLICT ({owner}) DO NOTHING RETURNING 1",
        (*values.values(), actor),
    )
    intact, seq, checks, found_at, found_by = _rows(
        f"SELECT intact, broken_seq, checks::text, found_at, found_by FROM {table} "
        f"WHERE {owner} = %s::uuid FOR UPDATE",
        (report.ident,),
    )[0]
    return _Before(not intact, seq, set(deltas.decode(checks)), found_at, found_by)


def _written(report: ChainReport, of: str, before: _Before, actor: str) -> VerificationRow:
    table, owner = _TABLES[of]
    rows = _rows(
        f"UPDATE {table} SET n_events = %s::bigint, intact = %s::boolean, "
        "broken_seq = %s::bigint, what = %s::text, checked_by = %s::varchar, "
        "checked_at = clock_timestamp(), checks = %s::jsonb, "
        "found_at = CASE WHEN NOT %s::boolean THEN coalesce(found_at, clock_timestamp()) END, "
        f"found_by = %s::varchar WHERE {owner} = %s::uuid {_RETURNED}",
        (
            report.n_events,
            report.intact,
            report.first_broken_seq,
            report.what or report.erased,
            actor,
            deltas.canonical(_needed(report, before)).decode(),
            report.intact,
            "" if report.intact else before.found_by or actor,
            report.ident,
        ),
    )
    return VerificationRow(*rows[0])


def _needed(report: ChainReport, before: _Before) -> list[str]:
    """List the checks that a verification must cover to clear the recorded damage."""
    if report.intact or not before.damaged:
        return list(report.checks)
    return sorted(before.checks | set(report.checks))


def _read(report: ChainReport, of: str) -> VerificationRow:
    table, owner = _TABLES[of]
    sql = f"SELECT {_COLUMNS} FROM {table} WHERE {owner} = %s::uuid"
    return VerificationRow(*_rows(sql, (report.ident,))[0])


def _log(kind: K, report: ChainReport, of: str, workspace: UUID, actor: str) -> None:
    data: dict[str, Any] = {"of": of, "id": str(report.ident), "events": report.n_events}
    if not report.intact:
        data |= {"seq": report.first_broken_seq, "what": report.what}
    log_record(workspace, NewEvent(kind, data | {"checks": list(report.checks)}, actor))


_COLUMNS: Final = "n_events, intact, broken_seq, what, checked_by, checked_at, found_at, found_by"
_RETURNED: Final = f"RETURNING {_COLUMNS}"


def _rows(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())
