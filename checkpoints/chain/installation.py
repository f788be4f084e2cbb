"""Verifying what belongs to no thread and no workspace: agent versions, users unknown to logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from .verify import ChainReport
from .versions import altered_versions

NAMED = 20  # so many users are named one by one


def version_reports() -> Iterator[ChainReport]:
    """A report of each agent version that is not what its id was made of."""
    for ident, what in altered_versions():
        yield ChainReport(ident, False, 0, None, f"{what[0].upper()}{what[1:]}.")


def unrecorded_users() -> Iterator[ChainReport]:
    """One report, of the oldest workspace, that names all users of whom no workspace's log tells.

    Superusers, staff and members of teams are meant.

    Who else is unknown to all logs has no role, and so no right. Nothing is found before the
    record of users began.
    """
    users = get_user_model()._meta.db_table
    found = _rows(
        "WITH told AS (SELECT DISTINCT jsonb_object_keys(data -> 'rows' -> %s::text) AS id "
        f"FROM gp_workspace_event) SELECT u.username FROM {users} u WHERE (u.is_superuser OR "
        "u.is_staff OR EXISTS (SELECT 1 FROM auth_user_groups g WHERE g.user_id = u.id)) "
        "AND NOT EXISTS (SELECT 1 FROM told WHERE told.id = u.id::text) AND EXISTS (SELECT 1 FROM "
        "gp_workspace_event WHERE data -> 'tables' ? %s::text) ORDER BY u.id",
        (users, users),
    )
    if found:
        first = _rows("SELECT id FROM gp_workspace ORDER BY created_at LIMIT 1", ())[0][0]
        names = ", ".join(repr(name) for (name,) in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        who = f"user {names} has" if len(found) == 1 else f"users {names}{more} have"
        yield ChainReport(first, False, 0, None, f"The {who} rights, and no event tells of them.")


def _rows(sql: str, params: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())
