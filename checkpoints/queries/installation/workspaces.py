"""Workspaces: their own log, and whom their admins may look after."""

from __future__ import annotations

from uuid import UUID

from checkpoints.views import Page, WorkspaceEventRow

from ..rows import decoded, row_of, rows

EVENT = """
SELECT workspace_id, seq, kind, actor, (data - '{rows,columns,was,tables}'::text[])::text, at,
  encode(hash, 'hex'), encode(prev_hash, 'hex')
FROM gp_workspace_event
"""


def workspace_events(
    workspace: UUID, *, before: int | None = None, limit: int = 50
) -> Page[WorkspaceEventRow]:
    """Who was given or lost which right, newest first; cursor = seq."""
    raw = rows(
        f"{EVENT} WHERE workspace_id = %s::uuid AND seq < %s::bigint ORDER BY seq DESC LIMIT %s",
        (workspace, 2**62 if before is None else before, limit + 1),
    )
    found = tuple(row_of(WorkspaceEventRow, r, {4: decoded}) for r in raw[:limit])
    return Page(found, str(found[-1].seq) if len(raw) > limit else "")


def people_of(workspace: UUID) -> set[int]:
    """Users with a role in the workspace, and those whom it has known and who have none at all."""
    found = rows(
        "SELECT user_id FROM gp_membership WHERE workspace_id = %s::uuid UNION "
        "SELECT known.id FROM (SELECT DISTINCT (data ->> 'user')::integer AS id FROM "
        "gp_workspace_event WHERE workspace_id = %s::uuid AND data ? 'user') known WHERE NOT "
        "EXISTS (SELECT 1 FROM gp_membership m WHERE m.user_id = known.id)",
        (workspace, workspace),
    )
    return {r[0] for r in found}


def roles_in(workspace: UUID) -> dict[int, set[str]]:
    """The roles of each member of a workspace by user: one statement."""
    found: dict[int, set[str]] = {}
    for user, role in rows(
        "SELECT user_id, role FROM gp_membership WHERE workspace_id = %s::uuid", (workspace,)
    ):
        found.setdefault(user, set()).add(role)
    return found


def only_member_of(user_id: int, workspace: UUID) -> bool:
    """Whether a user has no role in any other workspace."""
    found = rows(
        "SELECT 1 FROM gp_membership WHERE user_id = %s::integer AND workspace_id <> %s::uuid "
        "LIMIT 1",
        (user_id, workspace),
    )
    return not found
