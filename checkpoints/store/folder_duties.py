"""Folders of threads that are still to be written: a duty each, gone once its folder is there.

It is noted before the work whose end the folder follows: a worker that is killed in between and a
storage that is away leave it behind, and the process that looks for such duties does them later.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import connection
from uuid_utils.compat import uuid7

from ..limits import folder_seconds
from ..queries.installation.backlog import FOLDERS_DUE
from ..views import OwedFolder

# Nobody takes a duty twice within this time.
CLAIM_SECONDS: Final = 300.0
_NAME: Final = "concat('folder:', %s::text)"


def owe_folder(thread: UUID, *, by: str) -> None:
    """Note that the folder of a thread is to be written; `by` is what `folder_kept` names."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO gp_duty (name, owner, until) VALUES ({_NAME}, %s::varchar, "
            "clock_timestamp() + make_interval(secs => %s)) ON CONFLICT (name) DO UPDATE "
            "SET owner = EXCLUDED.owner, until = EXCLUDED.until",
            (thread, by, folder_seconds()),
        )


def folder_kept(thread: UUID, *, by: str) -> None:
    """Forget the duty, unless another change of the thread has renewed it meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM gp_duty WHERE name = {_NAME} AND owner = %s::varchar", (thread, by)
        )


def claim_folder() -> OwedFolder | None:
    """Take a duty that is due, of a thread that nobody works on; None where there is none.

    One look at a small table, however many threads there are.
    """
    by = str(uuid7())
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET owner = %s::varchar, "
            "until = clock_timestamp() + make_interval(secs => %s) WHERE name = ("
            f"SELECT d.name {FOLDERS_DUE} "
            "ORDER BY d.until LIMIT 1 FOR UPDATE OF d SKIP LOCKED) RETURNING "
            "substr(gp_duty.name, 8)::uuid, (SELECT th.workspace_id FROM gp_thread th "
            "WHERE th.id = substr(gp_duty.name, 8)::uuid)",
            (by, CLAIM_SECONDS, folder_seconds()),
        )
        row = cursor.fetchone()
    return OwedFolder(row[0], row[1], by) if row else None


def postpone_folder(owed: OwedFolder, *, seconds: float) -> None:
    """Let a duty that could not be done be due again after this many seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET until = clock_timestamp() + make_interval(secs => %s) "
            f"WHERE name = {_NAME} AND owner = %s::varchar",
            (seconds, owed.thread, owed.by),
        )
