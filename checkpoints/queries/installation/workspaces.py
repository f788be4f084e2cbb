"""Workspaces: their own log, and whom their admins may look after."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from checkpoints.tables.columns import EVENT
from checkpoints.tables.readers import Reader, decoded
from checkpoints.views import Page, WorkspaceEventRow

from ..rows import rows

_event = Reader(
    WorkspaceEventRow,
    EVENT.without("thread_id"),
    sql={
        "workspace": "workspace_id",
        "data": "(data - '{rows,columns,was,tables}'::text[])::text",
        "hash": "encode(hash, 'hex')",
        "prev_hash": "encode(prev_hash, 'hex')",
    },
    decode={"data": decoded},
)


def workspace_events(
    workspace: UUID, *, before: int | None = None, limit: int = 50
) -> Page[WorkspaceEventRow]:
    """List the changes of rights in a workspace, newest first; cursor = seq."""
    raw = rows(
        f"SELECT {_event.select} FROM gp_workspace_event "
        "WHERE workspace_id = %s::uuid AND seq < %s::bigint ORDER BY seq DESC LIMIT %s",
        (workspace, 2**62 if before is None else before, limit + 1),
    )
    results = tuple(map(_event, raw[:limit]))
    return Page(results, str(results[-1].seq) if len(raw) > limit else "")


def workspaces_named(names: Collection[str]) -> dict[str, UUID]:
    """{name: workspace} of those of these names that there are; one statement."""
    result = rows("SELECT name, id FROM gp_workspace WHERE name = ANY(%s::text[])", (list(names),))
    return dict(result)


def people_of(workspace: UUID) -> set[int]:
    """Users with a role in the workspace, and those whom it has known and who have none at all."""
    result = rows(
        "SELECT user_id FROM gp_membership WHERE workspace_id = %s::uuid UNION "
        "SELECT known.id FROM (SELECT DISTINCT (data ->> 'user')::integer AS id FROM "
        "gp_workspace_event WHERE workspace_id = %s::uuid AND data ? 'user') known WHERE NOT "
        "EXISTS (SELECT 1 FROM gp_membership m WHERE m.user_id = known.id)",
        (workspace, workspace),
    )
    return {r[0] for r in result}


def creators_of(users: Collection[str]) -> dict[str, str]:
    """{"user:7": who made this account, as the logs of all workspaces name them}; one statement.

    It reads these logs whole: to be asked about young accounts only.
    """
    ids = [who.removeprefix("user:") for who in users]
    result = rows(
        "SELECT data ->> 'user', actor FROM gp_workspace_event "
        "WHERE kind = 'user.created' AND data ->> 'user' = ANY(%s::text[])",
        (ids,),
    )
    return {f"user:{user}": actor for user, actor in result}


def login_begun(login: UUID, user: int) -> bool:
    """True if some workspace's log says that this sign-in of the user began."""
    # By the index of migration 0026, whose words these are.
    return bool(
        rows(
            "SELECT 1 FROM gp_workspace_event WHERE kind = 'login.begun' "
            "AND data ->> 'login' = %s::text AND data ->> 'user' = %s::text LIMIT 1",
            (str(login), str(user)),
        )
    )


def roles_in(workspace: UUID) -> dict[int, set[str]]:
    """The roles of each member of a workspace by user: one statement."""
    results: dict[int, set[str]] = {}
    for user, role in rows(
        "SELECT user_id, role FROM gp_membership WHERE workspace_id = %s::uuid", (workspace,)
    ):
        results.setdefault(user, set()).add(role)
    return results


_RULE = "id, name, ARRAY(SELECT jsonb_array_elements_text(second_factor_roles))"


def second_factor_rules(
    workspace: UUID | None = None, *, limit: int | None = None
) -> list[tuple[UUID, str, frozenset[str]]]:
    """(workspace, name, roles that need a second factor) of one or of all, the oldest first."""
    if workspace is None:
        return _rules(f"SELECT {_RULE} FROM gp_workspace ORDER BY created_at LIMIT %s", limit)
    return _rules(f"SELECT {_RULE} FROM gp_workspace WHERE id = %s::uuid", workspace)


def _rules(select: str, value: UUID | int | None) -> list[tuple[UUID, str, frozenset[str]]]:
    return [(ident, name, frozenset(roles)) for ident, name, roles in rows(select, (value,))]


def only_member_of(user_id: int, workspace: UUID) -> bool:
    """Answer True if a user has no role in any other workspace."""
    result = rows(
        "SELECT 1 FROM gp_membership WHERE user_id = %s::integer AND workspace_id <> %s::uuid "
        "LIMIT 1",
        (user_id, workspace),
    )
    return not result
