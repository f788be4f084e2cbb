"""Note which hours and days of the overview an imported thread adds to."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import connection

from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.overview import figures

SQL: Final = sql_file(__file__, turns=figures.TURNS)


def note_figures(thread: UUID, *, workspace: UUID) -> None:
    """Let hours and days that may be added up already be added up again."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.note_brought_in, {"thread": thread, "workspace": workspace})
