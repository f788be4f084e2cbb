"""Who opened which request: noted at the first look, decides nothing."""

from __future__ import annotations

from uuid import UUID

from django.db import connection


def note_look(approval_id: UUID, *, workspace: UUID, person: str) -> bool:
    """Note that this person (`user:7`) has the request open; True the first time.

    One statement; a request that is decided or of another workspace is left alone.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_approval_look (workspace_id, approval_id, person, at) "
            "SELECT a.workspace_id, a.id, %s::varchar, clock_timestamp() FROM gp_approval a "
            "WHERE a.id = %s::uuid AND a.workspace_id = %s::uuid AND a.status = 'pending' "
            "ON CONFLICT DO NOTHING",
            (person, approval_id, workspace),
        )
        return bool(cursor.rowcount == 1)
