"""Verifying what belongs to no thread and no workspace: agent versions, users unknown to logs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection

from .verify import ChainReport
from .versions import altered_versions

NAMED: Final = 20  # users that are named one by one
AT_ONCE = 1_000  # rows of one slice
_FIRST: Final = UUID(int=0)
_EVENTS: Final = """
SELECT workspace_id, seq, coalesce(data -> 'tables' ? %s::text, false),
  ARRAY(SELECT jsonb_object_keys(data -> 'rows' -> %s::text))
FROM gp_workspace_event WHERE (workspace_id, seq) > (%s::uuid, %s::bigint)
ORDER BY workspace_id, seq LIMIT %s
"""
_WITH_RIGHTS: Final = """
SELECT u.id, u.username FROM {users} u WHERE u.id > %s::bigint AND (u.is_superuser OR u.is_staff
  OR EXISTS (SELECT 1 FROM auth_user_groups g WHERE g.user_id = u.id)) ORDER BY u.id LIMIT %s
"""


def version_reports() -> Iterator[ChainReport]:
    """A report of each agent version that is not what its id was made of."""
    for ident, what in altered_versions():
        yield ChainReport(ident, False, 0, None, f"{what[0].upper()}{what[1:]}.")


def unrecorded_users_in_slices() -> Generator[int, None, list[ChainReport]]:
    """Users that no workspace's log records, in one report of the oldest workspace, or none.

    Yields how many rows are read by then. Superusers, staff and members of teams are meant.
    Who else is unknown to all logs has no role, and so no right. Nothing is found before the
    record of users began.
    """
    users = get_user_model()._meta.db_table
    n_read = after = 0
    # Users before events: one that is made meanwhile is not among them, or their event is.
    names_of: dict[str, str] = {}
    while rows := _rows(_WITH_RIGHTS.format(users=users), (after, AT_ONCE)):
        names_of |= {str(ident): name for ident, name in rows}
        after = rows[-1][0]
        n_read += len(rows)
        yield n_read
    has_begun = False
    last: tuple[Any, ...] = (_FIRST, 0)
    while page := _rows(_EVENTS, (users, users, *last, AT_ONCE)):
        for *_, begins, idents in page:
            has_begun = has_begun or begins
            for ident in idents:
                names_of.pop(ident, None)
        last = page[-1][:2]
        n_read += len(page)
        yield n_read
    unknown = [*names_of.values()] if has_begun else []
    if not unknown:
        return []
    first = _rows("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1", ())[0][0]
    names = ", ".join(repr(name) for name in unknown[:NAMED])
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    who = f"user {names} has" if len(unknown) == 1 else f"users {names}{more} have"
    what = f"The {who} rights, and no event records them."
    return [ChainReport(first, False, 0, None, what)]


def _rows(sql: str, params: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())
