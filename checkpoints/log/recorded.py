"""Rows that steer, as the log of a workspace records them.

A change of such a row writes, into the event that records it, all its columns as they stand after
the change: `data["rows"] = {table: {id: {column: text, ...}}}`, null for a row that is gone.
`data["columns"]` are those that the change was about by table, none where the row is new.
`data["tables"]` names the tables that are on record from this event on. `chain.workspaces` folds
both and compares the tables with them. Secrets and long texts enter by their hash.

A table may have rows that a sweep makes and drops by itself, and people change: such a row is on
record from the first change by a person on, and until then has to be `untouched`.

Upper floors register their tables when the app is ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from django.db import connection, models

# A column as text, or None; {column: text} of a row; {table: {id: row}} of several.
type Columns = dict[str, str | None]
type Rows = dict[str, dict[str, Columns | None]]

LONG = 500
_MICROSECONDS = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
TIME: Final = f"to_char(t.{{c}} AT TIME ZONE 'UTC', '{_MICROSECONDS}')"


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """A table on record: how people call a row, and what of it is recorded.

    `columns` are {name: SQL that gives it as text}; of `secrets` only hashes are. `of` is the SQL
    of the workspace that a row belongs to, empty where a row belongs to no workspace. `untouched`
    are the columns of a row that needs no event; None where every row needs one.
    """

    name: str
    noun: str
    label: str
    columns: Mapping[str, str]
    secrets: frozenset[str] = frozenset()
    of: str = "workspace_id"
    key: str = field(default="id")
    untouched: Columns | None = None

    def is_untouched(self, columns: Columns) -> bool:
        """Say whether such a row needs no event."""
        return self.untouched is not None and columns == self.untouched


_TABLES: dict[str, RecordedTable] = {}


def register(
    model: type[models.Model],
    *,
    noun: str,
    label: str,
    leaves_out: Iterable[str] = (),
    secrets: Iterable[str] = (),
    of: str = "workspace_id",
    also: Mapping[str, str] | None = None,
    untouched: Columns | None = None,
) -> None:
    """Put a table on record: all its columns but the key and those that it `leaves_out`.

    `also` are further columns by their SQL, where a row is more than its table. Of a table with
    `untouched` rows the columns that it names are on record, no others.
    """
    meta = model._meta
    left = {"id", of, *leaves_out}
    columns = {
        str(column.column): _as_text(str(column.column), column.db_type(connection) or "")
        for column in meta.concrete_fields
        if column.column not in left and (untouched is None or column.column in untouched)
    }
    columns |= also or {}
    _TABLES[meta.db_table] = RecordedTable(
        meta.db_table, noun, label, columns, frozenset(secrets), of, untouched=untouched
    )


def tables() -> Mapping[str, RecordedTable]:
    """All tables on record by their names."""
    return _TABLES


def read(table: RecordedTable, ids: Sequence[Any]) -> dict[str, Columns]:
    """These rows of a table as an event records them."""
    return _read(table, f"t.{table.key}::text = ANY(%s::text[])", [str(i) for i in ids])


def read_workspace(table: RecordedTable, workspace: UUID) -> dict[str, Columns]:
    """The rows of a workspace in a table, as an event records them."""
    return _read(table, f"t.{table.of} = %s::uuid", workspace)


def is_on_record(table: str) -> bool:
    """Return True if changes of a table's rows are recorded."""
    return table in _TABLES


def rows_now(wanted: Mapping[str, Iterable[Any]]) -> Rows:
    """{table: ids} as the rows stand now; None for those that are gone."""
    taken: Rows = {}
    for name, ids in wanted.items():
        keys = [str(ident) for ident in ids]
        stand = read(_TABLES[name], keys)
        taken[name] = {ident: stand.get(ident) for ident in keys}
    return taken


@dataclass(frozen=True, slots=True)
class RowChange:
    """The rows ({table: ids}) that an event is about, and what of them it changed.

    `columns` are None where the rows are new, and `made` are new ones beside them. The
    others have to be as they were: otherwise the next honest change would put on record what
    somebody altered past the log. `was` are the rows before the change, where the new values follow
    from the old.
    """

    rows: Mapping[str, Iterable[Any]]
    columns: Sequence[str] | None = None
    was: Rows | None = None
    made: Mapping[str, Iterable[Any]] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """Build the event's data: the rows as they are now."""
        data: dict[str, Any] = {"rows": rows_now(self.rows) | rows_now(self.made)}
        if self.columns is not None:
            data["columns"] = {table: list(self.columns) for table in self.rows}
        return data if self.was is None else data | {"was": self.was}


def _read(table: RecordedTable, condition: str, param: Any) -> dict[str, Columns]:
    names = list(table.columns)
    values = ", ".join(table.columns[name] for name in names)
    with connection.cursor() as cursor:
        # The whole condition is ours: names of tables and columns out of the models.
        cursor.execute(
            f"SELECT t.{table.key}::text, {values} FROM {table.name} t WHERE {condition}", (param,)
        )
        rows = cursor.fetchall()
    return {
        row[0]: {
            name: _recorded(table, row[0], name, value)
            for name, value in zip(names, row[1:], strict=True)
        }
        for row in rows
    }


def _recorded(table: RecordedTable, ident: str, name: str, value: str | None) -> str | None:
    if value is None or (name not in table.secrets and len(value) <= LONG):
        return value
    # With the place, so that equal secrets of two rows do not show as equal.
    path = f"gatepost-column-1|{table.name}|{ident}|{name}|"
    return "sha256:" + sha256((path + value).encode()).hexdigest()


_TEXT: Final = {
    "bytea": "encode(t.{c}, 'hex')",
    "timestamp with time zone": TIME,
}


def _as_text(column: str, kind: str) -> str:
    return _TEXT.get(kind, 't."{c}"::text').format(c=column)
