"""Verifying the log of a workspace, and that roles and settings are those which it tells of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from .. import deltas, recorded
from ..errors import NotFound
from ..states import WorkspaceEventKind as K
from .events import Event, Log
from .links import Broken
from .verify import ChainReport, report


def verify_workspace(workspace_id: UUID) -> ChainReport:
    """Verify all events of a workspace, its roles and its settings as they stand; NotFound.

    Of a workspace that is older than its log only the chain can be verified. Settings are proved
    from where they are on record: `since` of the report, None for its birth.
    """
    with connection.cursor() as cursor:
        # One statement: the row, the end of its log and its roles as of one moment.
        cursor.execute(
            "SELECT w.chain_id, w.last_seq, w.last_hash, (SELECT coalesce(max(seq), 0) FROM "
            "gp_workspace_event WHERE workspace_id = w.id), ARRAY(SELECT m.user_id || ' ' || "
            "m.role FROM gp_membership m WHERE m.workspace_id = w.id) FROM gp_workspace w "
            "WHERE w.id = %s::uuid",
            (workspace_id,),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such workspace.")
    chain, last_seq, last_hash, highest_seq, stored = row
    ends = (chain, last_seq, bytes(last_hash), highest_seq)
    log = Log("workspace", workspace_id, workspace_id, *ends)
    given: set[str] = set()
    from_birth = False
    settings = Settings(workspace_id)
    try:
        for event in log.verified():
            from_birth = from_birth or event.kind == K.WORKSPACE_CREATED
            _fold(given, event)
            settings.follow(event)
        if from_birth and (strange := given ^ set(stored)):
            user, _, role = min(strange).partition(" ")
            has = "has" if min(strange) in stored else "lacks"
            raise Broken(last_seq, f"user {user} {has} the role {role} against the log")
        settings.compare(last_seq)
    except Broken as broken:
        return report(log, broken)
    return report(log, since=settings.since)


class Settings:
    """Rows that steer, as the events of a workspace record them one after the other."""

    def __init__(self, workspace: UUID) -> None:
        self._workspace = workspace
        self._tables: set[str] = set()
        # {table: {id: (the last event that records it, its columns)}}; None for one that is gone.
        self._rows: dict[str, dict[str, tuple[int, recorded.Columns | None]]] = {}
        self.since: datetime | None = None

    def follow(self, event: Event) -> None:
        """Take over what an event records."""
        if '"rows"' not in event.data and '"tables"' not in event.data:
            return
        data: dict[str, Any] = deltas.decode(event.data)
        self._tables.update(data.get("tables", ()))
        if event.kind == K.RECORD_BEGUN:
            self.since = event.at
        for name, rows in data.get("rows", {}).items():
            may_change = data.get("columns", {}).get(name)
            was = data.get("was", {}).get(name, {})
            for ident, columns in rows.items():
                self._check_before(event, name, ident, was.get(ident), columns, may_change)
                self._rows.setdefault(name, {})[ident] = (event.seq, columns)

    def _check_before(
        self,
        event: Event,
        name: str,
        ident: str,
        was: recorded.Columns | None,
        columns: recorded.Columns | None,
        may_change: Sequence[str] | None,
    ) -> None:
        """Refuse an event that would put on record what was altered before it; raises Broken."""
        table = recorded.tables().get(name)
        if table is None:
            return
        told = self._rows.get(name, {}).get(ident, (0, None))[1]
        before = was or columns
        if told is None:
            # A user is on record in the logs of some workspaces, and comes into others.
            if may_change is not None and columns and table.of and name in self._tables:
                who = _called(table, ident, columns)
                raise Broken(event.seq, f"{who} was there before it, and no event tells of it")
        elif before is not None:
            open_to = () if was is not None else may_change or ()
            wrong = _differs(
                {c: v for c, v in told.items() if c not in open_to},
                {c: v for c, v in before.items() if c not in open_to},
            )
            if wrong:
                raise Broken(event.seq, f"before it {_called(table, ident, told)} {wrong}")

    def compare(self, last_seq: int) -> None:
        """Compare each row on record with its table; raises Broken."""
        for name, table in recorded.tables().items():
            told = self._rows.get(name, {})
            stored = (
                recorded.read_workspace(table, self._workspace)
                if table.of
                else recorded.read(table, list(told))
            )
            for ident, (seq, columns) in told.items():
                wrong = _differs(columns, stored.get(ident))
                if wrong:
                    who = _called(table, ident, columns or stored.get(ident))
                    raise Broken(seq, f"{who} {wrong}")
            if name in self._tables and (strange := sorted(set(stored) - set(told))):
                who = _called(table, strange[0], stored[strange[0]])
                raise Broken(last_seq, f"{who} is there, and no event tells of it")


def _differs(told: recorded.Columns | None, stored: recorded.Columns | None) -> str:
    """What of a row is not as it was told of, in words; "" when it fits."""
    if told is None or stored is None:
        if told is stored:
            return ""
        return "is gone, and no event tells of it" if stored is None else "is there again"
    # A column that a later version added is not in older events.
    other = [name for name in stored if name in told and told[name] != stored[name]]
    return f"was altered past the log: {', '.join(other)}" if other else ""


def _called(table: recorded.RecordedTable, ident: str, columns: recorded.Columns | None) -> str:
    label = (columns or {}).get(table.label) or ident
    return f"the {table.noun} {label!r}"


def _fold(given: set[str], event: Event) -> None:
    """Add or take the role that an event is about, written "user role"."""
    if event.kind not in (K.ROLE_GRANTED, K.ROLE_WITHDRAWN):
        return
    data = deltas.decode(event.data)
    role = f"{data['user']} {data['role']}"
    if event.kind == K.ROLE_GRANTED:
        given.add(role)
    else:
        given.discard(role)
