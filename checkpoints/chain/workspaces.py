"""Verifying the log of a workspace, and that roles and settings are those that it records."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from ..errors import NotFound
from ..log import recorded
from ..state import deltas
from ..states import WorkspaceEventKind as K
from .events import Event, Log
from .links import Broken
from .verify import LOOKS, ChainReport, report, returned


def verify_workspace(workspace_id: UUID) -> ChainReport:
    """Verify all events of a workspace, its roles and its settings as they stand; NotFound.

    Of a workspace that is older than its log only the chain can be verified. Settings are proved
    from where they are on record: `since` of the report, None from its creation on.
    """
    return returned(verify_workspace_in_slices(workspace_id))


def verify_workspace_in_slices(workspace_id: UUID) -> Generator[int, None, ChainReport]:
    """Do the same a batch of events at a time, yielding how many are verified; returns the report.

    Between two slices nothing is held: what is appended meanwhile is verified as well.
    """
    facts = _facts(workspace_id)
    if facts is None:
        raise NotFound("There is no such workspace.")
    log = Log("workspace", workspace_id, workspace_id, facts.chain, *facts.end)
    values: set[str] = set()
    from_creation = False
    settings = Settings(workspace_id)
    try:
        for _ in range(LOOKS):
            for batch in log.batches():
                for event in batch:
                    log.check(event)
                    from_creation = from_creation or event.kind == K.WORKSPACE_CREATED
                    _fold(values, event)
                    settings.follow(event)
                yield log.n_verified
            log.check_end()
            result = None
            try:
                _compare_roles(values if from_creation else facts.roles, facts)
                settings.compare(facts.end[0])
            except Broken as broken:
                result = broken
            now = _facts(workspace_id)
            if now is None:
                raise Broken(facts.end[0], "the workspace is gone")
            if now.end == facts.end:
                if result is not None:
                    raise result
                break
            # It moved between the two: what is there belongs to events not yet read.
            facts = now
            log.last_seq, log.last_hash, log.highest_seq = now.end
    except Broken as broken:
        return report(log, broken)
    return report(log, since=settings.since)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The row and the end of a log (last_seq, last_hash, highest seq) and who has which role."""

    chain: UUID
    end: tuple[int, bytes, int]
    roles: set[str]


def _facts(workspace: UUID) -> _Facts | None:
    with connection.cursor() as cursor:
        # One statement: all of it as of one moment.
        cursor.execute(
            "SELECT w.chain_id, w.last_seq, w.last_hash, (SELECT coalesce(max(seq), 0) FROM "
            "gp_workspace_event WHERE workspace_id = w.id), ARRAY(SELECT m.user_id || ' ' || "
            "m.role FROM gp_membership m WHERE m.workspace_id = w.id) FROM gp_workspace w "
            "WHERE w.id = %s::uuid",
            (workspace,),
        )
        row: Any = cursor.fetchone()
    if row is None:
        return None
    chain, last_seq, last_hash, highest_seq, roles = row
    return _Facts(chain, (last_seq, bytes(last_hash), highest_seq), set(roles))


def _compare_roles(values: set[str], facts: _Facts) -> None:
    """Refuse roles that are not those which the events gave; raises Broken."""
    if strange := values ^ facts.roles:
        user, _, role = min(strange).partition(" ")
        has = "has" if min(strange) in facts.roles else "lacks"
        raise Broken(facts.end[0], f"user {user} {has} the role {role} against the log")


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
        # The beginning of the record takes rows over as people left them.
        changed = may_change is not None and name in self._tables
        never_on_record = (0, table.untouched if changed else None)
        payload = self._rows.get(name, {}).get(ident, never_on_record)[1]
        before = was or columns
        if payload is None:
            # A user is on record in the logs of some workspaces, and comes into others.
            if changed and columns and table.of:
                who = _called(table, ident, columns)
                raise Broken(event.seq, f"{who} was there before it, and no event records it")
        elif before is not None:
            open_to = () if was is not None else may_change or ()
            wrong = _differs(
                {c: v for c, v in payload.items() if c not in open_to},
                {c: v for c, v in before.items() if c not in open_to},
            )
            if wrong:
                raise Broken(event.seq, f"before it {_called(table, ident, payload)} {wrong}")

    def compare(self, last_seq: int) -> None:
        """Compare each row on record with its table; raises Broken."""
        for name, table in recorded.tables().items():
            payload = self._rows.get(name, {})
            stored = (
                recorded.read_workspace(table, self._workspace)
                if table.of
                else recorded.read(table, list(payload))
            )
            for ident, (seq, columns) in payload.items():
                if columns is not None and ident not in stored and table.is_untouched(columns):
                    continue  # what people did they took back: it is the sweep's again
                wrong = _differs(columns, stored.get(ident))
                if wrong:
                    who = _called(table, ident, columns or stored.get(ident))
                    raise Broken(seq, f"{who} {wrong}")
            if name in self._tables:
                _refuse_strange(table, stored, payload, last_seq)


def _differs(columns: recorded.Columns | None, stored: recorded.Columns | None) -> str:
    """Describe how a row differs from its last event; "" when it fits."""
    if columns is None or stored is None:
        if columns is stored:
            return ""
        return "is gone, and no event records it" if stored is None else "is there again"
    # A column that a later version added is not in older events.
    other = [name for name in stored if name in columns and columns[name] != stored[name]]
    return f"was altered past the log: {', '.join(other)}" if other else ""


def _refuse_strange(
    table: recorded.RecordedTable,
    stored: Mapping[str, recorded.Columns],
    payload: Mapping[str, Any],
    last_seq: int,
) -> None:
    """Refuse rows of a table that no event records; raises Broken."""
    for ident in sorted(set(stored) - set(payload)):
        if table.is_untouched(stored[ident]):
            continue
        wrong = "is there" if table.untouched is None else _differs(table.untouched, stored[ident])
        who = _called(table, ident, stored[ident])
        raise Broken(last_seq, f"{who} {wrong}, and no event records it")


def _called(table: recorded.RecordedTable, ident: str, columns: recorded.Columns | None) -> str:
    label = (columns or {}).get(table.label) or ident
    return f"the {table.noun} {label!r}"


def _fold(values: set[str], event: Event) -> None:
    """Add or take the role that an event is about, written "user role"."""
    if event.kind not in (K.ROLE_GRANTED, K.ROLE_WITHDRAWN):
        return
    data = deltas.decode(event.data)
    role = f"{data['user']} {data['role']}"
    if event.kind == K.ROLE_GRANTED:
        values.add(role)
    else:
        values.discard(role)
