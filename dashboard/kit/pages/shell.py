"""The frame of every page: the signed-in person, the workspace, the open work."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from approvals import queries as gates
from checkpoints import queries
from dashboard.errors import Forbidden
from dashboard.identity.administrator import AUDIT
from dashboard.identity.permissions import actor_of, may


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor of the pages; nothing for strangers."""
    context: dict[str, Any] = {"poll_seconds": settings.GATEPOST_POLL_SECONDS}
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or request.path.startswith("/admin/"):
        return context
    actor = getattr(request, "actor", None)
    if actor is None:
        try:
            actor = actor_of(user)
        except Forbidden:
            return context
    if actor.lacks_factor or getattr(request, "sets_up_factor", False):
        # Nothing is shown before the second factor is there but the way out.
        return context | {"workspace_name": actor.workspace_name, "sets_up_factor": True}
    return context | {
        "role_labels": sorted(actor.roles),
        "may_audit": not AUDIT.isdisjoint(actor.roles),
        "may_decide": may(actor, "decide"),
        "workspace_id": actor.workspace,
        "workspace_name": actor.workspace_name,
        "other_workspaces": [
            membership for membership in actor.places if membership[0] != actor.workspace
        ],
        "open_approvals": gates.open_count(workspace=actor.workspace),
        "unworked": queries.unworked(workspace=actor.workspace),
    }
