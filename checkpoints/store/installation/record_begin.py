"""Where the record of rows that steer begins in an installation that is older than it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import batched
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection, transaction

from checkpoints.chain.versions import former_versions
from checkpoints.log import recorded
from checkpoints.log.recorded import RowChange
from checkpoints.states import WorkspaceEventKind as K

from ..statement.moves import NewEvent
from .workspaces import append, lock_workspaces

# Rows per event: each has its columns, and an event takes 256 KiB.
ROWS_AT_ONCE: Final = 40
VERSIONS_AT_ONCE: Final = 1_000
NOTE: Final = "As it stood when the record began: nothing before this is proved."


def begin_record(*, actor: str) -> int:
    """Put every table that is not yet on record there, as it stands; how many events it took.

    Called after each migration. What is on record already is left alone, so that an alteration is
    not taken for what stood there.
    """
    n_events = 0
    for workspace in _rows("SELECT id FROM gp_workspace ORDER BY id", ()):
        with transaction.atomic():
            lock_workspaces([workspace])
            missing = sorted(set(recorded.tables()) - on_record(workspace))
            for name, ids in _parts(workspace, missing):
                data = {"tables": [name], "note": NOTE}
                begun = NewEvent(K.RECORD_BEGUN, data, actor)
                append(workspace, [begun], RowChange({name: ids}))
                n_events += 1
    return n_events + _begin_versions(actor)


def _begin_versions(actor: str) -> int:
    """Put agent versions on record whose ids follow from nothing; how many events it took.

    They belong to no workspace: the oldest one's log records them. None comes later, so one that
    no event records was planted. What began with this release needs no such event.
    """
    sql = (
        "SELECT bool_or(data ? 'versions') FROM gp_workspace_event WHERE kind = %s "
        "HAVING count(*) > 0"
    )
    if _rows(sql, (str(K.RECORD_BEGUN),)) != [False]:
        return 0
    [oldest] = _rows("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1", ())
    versions = sorted(former_versions().items())
    parts = [dict(some) for some in batched(versions, VERSIONS_AT_ONCE)] or [{}]
    with transaction.atomic():
        lock_workspaces([oldest])
        begun = [NewEvent(K.RECORD_BEGUN, {"versions": p, "note": NOTE}, actor) for p in parts]
        append(oldest, begun)
    return len(parts)


def on_record(workspace: UUID) -> set[str]:
    """The tables that the log of a workspace has on record."""
    return set(
        _rows(
            "SELECT DISTINCT jsonb_array_elements_text(data -> 'tables') FROM gp_workspace_event "
            "WHERE workspace_id = %s::uuid AND kind IN (%s, %s)",
            (workspace, str(K.WORKSPACE_CREATED), str(K.RECORD_BEGUN)),
        )
    )


def _parts(workspace: UUID, names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(table, some ids): what one event records; an empty table takes one too."""
    for name in names:
        table = recorded.tables()[name]
        ids = _changed_by_people(table, workspace) if table.of else _people(workspace)
        yield from ((name, list(some)) for some in batched(ids, ROWS_AT_ONCE))
        if not ids:
            yield name, []


def _changed_by_people(table: recorded.RecordedTable, workspace: UUID) -> list[str]:
    """The rows of a workspace in a table that are not as a sweep leaves them."""
    rows = recorded.read_workspace(table, workspace)
    return sorted(ident for ident, columns in rows.items() if not table.is_untouched(columns))


def _people(workspace: UUID) -> list[str]:
    """The users of a workspace; those who belong to none are the oldest one's."""
    users = get_user_model()._meta.db_table
    rows = _rows(
        f"SELECT u.id FROM {users} u WHERE EXISTS (SELECT 1 FROM gp_membership m WHERE "
        "m.user_id = u.id AND m.workspace_id = %s::uuid) OR (NOT EXISTS (SELECT 1 FROM "
        "gp_membership m WHERE m.user_id = u.id) AND %s::uuid = (SELECT id FROM gp_workspace "
        "ORDER BY created_at LIMIT 1)) ORDER BY u.id",
        (workspace, workspace),
    )
    return [str(ident) for ident in rows]


def _rows(sql: str, params: tuple[Any, ...]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return [row[0] for row in cursor.fetchall()]
