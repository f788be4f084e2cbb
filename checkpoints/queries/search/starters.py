"""People who start threads, by the names that a query has for them."""

from __future__ import annotations

from collections.abc import Sequence

from ...postgres.named_rows import fetch_named

_NAMED = (
    "SELECT 'user:' || u.id FROM auth_user u WHERE lower(u.username) = lower(%s::text) "
    "OR lower(u.first_name || ' ' || u.last_name) = lower(%s::text) ORDER BY u.id LIMIT 20"
)
_MEMBERS = (
    "SELECT DISTINCT u.username FROM auth_user u JOIN gp_membership m ON m.user_id = u.id "
    "WHERE m.workspace_id = %s::uuid ORDER BY u.username LIMIT 20"
)


def people_named(name: str) -> list[str]:
    """The ids in the log, `user:7`, of people with this user name or full name, in any case."""
    return [person for (person,) in fetch_named(_NAMED, (name, name))]


def members_of(workspace: object) -> Sequence[str]:
    """User names of a workspace's members, the first of them."""
    return [name for (name,) in fetch_named(_MEMBERS, (workspace,))]
