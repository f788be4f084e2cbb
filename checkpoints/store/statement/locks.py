"""The first lock everywhere: the row of a thread, before anything that belongs to the thread."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import connection

# For statements of the floors above that read more than the thread: it is `th` in them.
LOCK_THREAD: Final = "FOR UPDATE OF th"


def join_thread(of: str) -> str:
    """SQL that joins the thread of a row; `of` is the column with the thread's id."""
    return f"JOIN gp_thread th ON th.id = {of}"


def lock_free(*beside: str) -> str:
    """SQL that locks threads, and these rows of theirs, where nobody holds either of them."""
    return f"FOR NO KEY UPDATE OF {', '.join(('th', *beside))} SKIP LOCKED"


def lock_thread(thread: UUID, *, token: UUID | None = None) -> bool:
    """Lock a thread until the transaction ends; False where there is none.

    With `token`: only under this lease.
    """
    leased, params = ("", ()) if token is None else (" AND lease_token = %s::uuid", (token,))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM gp_thread WHERE id = %s::uuid{leased} FOR UPDATE", (thread, *params)
        )
        return cursor.fetchone() is not None
