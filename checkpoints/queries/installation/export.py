"""Whole rows as they are stored, for capsules: batch by batch, each column with its hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from checkpoints.capsules import columns as c

from ..rows import rows

AT_ONCE = 200
CHECKPOINTS_AT_ONCE = 50
# A cursor has up to 1 MiB.
CURSORS_AT_ONCE = 10


def thread_row(thread_id: UUID) -> dict[str, Any]:
    """The row of a thread."""
    return _one("gp_thread", c.THREAD, thread_id)


def agent_version_row(version: UUID) -> dict[str, Any]:
    """The row of an agent version."""
    return _one("gp_agent_version", c.AGENT_VERSION, version)


def agent_versions_of(thread_id: UUID) -> set[UUID]:
    """The agent versions that a thread and its checkpoints name."""
    found = rows(
        "SELECT agent_version_id FROM gp_thread WHERE id = %s::uuid UNION "
        "SELECT agent_version_id FROM gp_checkpoint WHERE thread_id = %s::uuid",
        (thread_id, thread_id),
    )
    return {version for (version,) in found}


def event_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """All events, oldest first."""
    return _by("seq", "gp_event", c.EVENT, thread_id, AT_ONCE, -1)


def checkpoint_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """All of a thread's own checkpoints by their number."""
    return _by("number", "gp_checkpoint", c.CHECKPOINT, thread_id, CHECKPOINTS_AT_ONCE, -1)


def checkpoint_row(thread_id: UUID, number: int) -> dict[str, Any]:
    """The row of one checkpoint that is there."""
    return next(_by("number", "gp_checkpoint", c.CHECKPOINT, thread_id, 1, number - 1))


def activity_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """All activities by their id, without those that have only shown progress so far."""
    return _by(
        "id",
        "gp_activity",
        c.ACTIVITY,
        thread_id,
        AT_ONCE,
        UUID(int=0),
        "AND (state <> 'started' OR kind = 'effect')",
    )


def cursor_rows(thread_id: UUID) -> Iterator[dict[str, Any]]:
    """Activities that go on somewhere when they are called again, by their id."""
    return _by(
        "id",
        "gp_activity",
        c.CURSOR,
        thread_id,
        CURSORS_AT_ONCE,
        UUID(int=0),
        "AND cursor IS NOT NULL AND state IN ('started', 'failed') AND kind <> 'effect'",
    )


def artifact_row(sha: str, *, workspace: UUID) -> dict[str, Any] | None:
    """The row of a file, with the path of its bytes as `path`; None where there is none."""
    names = {**c.ARTIFACT, "path": "varchar"}
    found = rows(
        f"SELECT {c.selected(names)} FROM gp_artifact WHERE workspace_id = %s::uuid "
        "AND sha256 = %s::varchar",
        (workspace, sha),
    )
    return c.told(names, found[0]) if found else None


def inputs_waiting(thread_id: UUID) -> list[str]:
    """What messages are known by that the thread has received and not taken yet."""
    found = rows(
        "SELECT ref FROM gp_wake WHERE thread_id = %s::uuid AND kind = 'input' ORDER BY id",
        (thread_id,),
    )
    return [ref for (ref,) in found]


def imports_of(thread_id: UUID) -> list[tuple[int, UUID]]:
    """(its last event then, the workspace it came from) of each import of a thread, oldest first.

    A thread that began with one checkpoint has brought no event along.
    """
    found = rows(
        "SELECT (data ->> 'seq')::bigint, data ->> 'workspace' FROM gp_event "
        "WHERE thread_id = %s::uuid AND kind = 'thread.imported' AND NOT data ? 'checkpoint' "
        "AND data ->> 'workspace' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "
        "AND data ->> 'seq' ~ '^[0-9]{1,15}$' ORDER BY seq",
        (thread_id,),
    )
    return [(seq, UUID(workspace)) for seq, workspace in found]


def _one(table: str, columns: c.Columns, ident: UUID) -> dict[str, Any]:
    found = rows(f"SELECT {c.selected(columns)} FROM {table} WHERE id = %s::uuid", (ident,))
    return c.told(columns, found[0])


def _by(
    key: str,
    table: str,
    columns: c.Columns,
    thread: UUID,
    at_once: int,
    last: Any,
    which: str = "",
) -> Iterator[dict[str, Any]]:
    sql = (
        f"SELECT {c.selected(columns)} FROM {table} WHERE thread_id = %s::uuid "
        f"AND {key} > %s::{columns[key]} {which} ORDER BY {table}.{key} LIMIT {at_once}"
    )
    while True:
        found: Sequence[tuple[Any, ...]] = rows(sql, (thread, last))
        for values in found:
            row = c.told(columns, values)
            yield row
            last = row[key]
        if len(found) < at_once:
            return
