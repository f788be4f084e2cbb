"""Whole rows as they are stored, for capsules: batch by batch, each column with its hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from checkpoints.capsules.rows import CURSOR, STORED_ARTIFACT, select, to_json
from checkpoints.tables.columns import ACTIVITY, AGENT_VERSION, CHECKPOINT, EVENT, THREAD
from checkpoints.tables.listed import Columns

from ..rows import rows

AT_ONCE = 200
CHECKPOINTS_AT_ONCE = 50
# A cursor has up to 1 MiB.
CURSORS_AT_ONCE = 10
_FIRST = UUID(int=0)
_OF_THREAD = "thread_id = %s::uuid"


def thread_row(thread_id: UUID) -> dict[str, Any]:
    """The row of a thread."""
    return _one(THREAD.exported, thread_id)


def agent_version_row(version: UUID) -> dict[str, Any]:
    """The row of an agent version."""
    return _one(AGENT_VERSION.exported, version)


def agent_versions_of(thread_id: UUID) -> set[UUID]:
    """The agent versions that a thread and its checkpoints name."""
    result = rows(
        "SELECT agent_version_id FROM gp_thread WHERE id = %s::uuid UNION "
        "SELECT agent_version_id FROM gp_checkpoint WHERE thread_id = %s::uuid",
        (thread_id, thread_id),
    )
    return {version for (version,) in result}


def event_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """All events, oldest first."""
    return exported_rows(EVENT.exported, thread_id, key="seq", after=-1)


def checkpoint_rows(
    thread_id: UUID, *, after: int = -1, at_once: int = CHECKPOINTS_AT_ONCE
) -> Iterator[dict[str, Any]]:
    """A thread's own checkpoints `after` a number, by their number."""
    return exported_rows(CHECKPOINT.exported, thread_id, key="number", after=after, at_once=at_once)


def checkpoint_row(thread_id: UUID, number: int) -> dict[str, Any]:
    """The row of one checkpoint that is there."""
    return next(checkpoint_rows(thread_id, after=number - 1, at_once=1))


def activity_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """All activities by their id, without those that have only shown progress so far."""
    return exported_rows(
        ACTIVITY.exported,
        thread_id,
        where=f"{_OF_THREAD} AND (state <> 'started' OR kind = 'effect')",
    )


def cursor_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """Activities that continue somewhere when they are called again, by their id."""
    continues = "cursor IS NOT NULL AND state IN ('started', 'failed') AND kind <> 'effect'"
    return exported_rows(
        CURSOR, thread_id, where=f"{_OF_THREAD} AND {continues}", at_once=CURSORS_AT_ONCE
    )


def artifact_row(sha: str, *, workspace: UUID) -> dict[str, Any] | None:
    """The row of a file, with the path of its bytes as `path`; None where there is none."""
    result = rows(
        f"SELECT {select(STORED_ARTIFACT)} FROM gp_artifact WHERE workspace_id = %s::uuid "
        "AND sha256 = %s::varchar",
        (workspace, sha),
    )
    return to_json(STORED_ARTIFACT, result[0]) if result else None


def inputs_waiting(thread_id: UUID) -> list[str]:
    """List the ids of messages and signals that the thread has received and not taken yet."""
    result = rows(
        "SELECT ref FROM gp_wake WHERE thread_id = %s::uuid AND kind IN ('input', 'signal') "
        "ORDER BY id",
        (thread_id,),
    )
    return [ref for (ref,) in result]


def imports_of(thread_id: UUID) -> list[tuple[int, UUID]]:
    """(its last event then, the workspace it came from) of each import of a thread, oldest first.

    A thread that began with one checkpoint has brought no event along.
    """
    result = rows(
        "SELECT (data ->> 'seq')::bigint, data ->> 'workspace' FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'thread.imported' AND NOT data ? 'checkpoint' "
        "AND data ->> 'workspace' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "
        "AND data ->> 'seq' ~ '^[0-9]{1,15}$' ORDER BY seq",
        (thread_id,),
    )
    return [(seq, UUID(workspace)) for seq, workspace in result]


def exported_rows(
    columns: Columns,
    thread: UUID,
    *,
    where: str = _OF_THREAD,
    key: str = "id",
    after: Any = _FIRST,
    at_once: int = AT_ONCE,
) -> Iterator[dict[str, Any]]:
    """Rows of a table for a capsule, batch by batch in the order of `key`.

    `where` is a condition whose one parameter is the thread.
    """
    table = columns.table
    sql = (
        f"SELECT {select(columns)} FROM {table} WHERE {where} "
        f"AND {table}.{key} > {columns[key].placeholder} ORDER BY {table}.{key} LIMIT {at_once}"
    )
    while True:
        result = rows(sql, (thread, after))
        for values in result:
            row = to_json(columns, values)
            yield row
            after = row[key]
        if len(result) < at_once:
            return


def _one(columns: Columns, ident: UUID) -> dict[str, Any]:
    sql = f"SELECT {select(columns)} FROM {columns.table} WHERE id = %s::uuid"
    return to_json(columns, rows(sql, (ident,))[0])


def imports(thread_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """{thread: last event and checkpoint that came with a capsule} for those that were imported."""
    result = rows(
        "SELECT id, imported_seq, imported_number FROM gp_thread "
        "WHERE id = ANY(%s::uuid[]) AND imported_seq > 0",
        (list(thread_ids),),
    )
    return {ident: (seq, number) for ident, seq, number in result}
