"""The workspace that a page showed, beside the one that its login acts in now.

Two windows of one login can show two workspaces, since the login acts in the one that was chosen
last. A form, a poll or a socket of the other one is refused: nothing is done in the wrong one.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from dashboard.errors import OtherWorkspace
from dashboard.identity.permissions import Actor

FIELD: Final = "acts_in"
HEADER: Final = "X-Gatepost-Workspace"


def workspace_of(request: Any) -> UUID | None:
    """The workspace that a page of this request acts in; None for strangers."""
    actor: Actor | None = getattr(request, "actor", None)
    if actor is None:
        who = getattr(request, "administrator", None)
        actor = getattr(who, "actor", None)
    return None if actor is None else actor.workspace


def refuse_other(request: Any, actor: Actor) -> None:
    """Raise OtherWorkspace where the page that sent this showed another workspace than now."""
    sent = request.headers.get(HEADER, "")
    if request.method == "POST":
        sent = request.POST.get(FIELD, "") or sent
    if not sent or sent == str(actor.workspace):
        return
    name = next((name for ident, name in actor.places if str(ident) == sent), "")
    there = f"the workspace {name}" if name else "another workspace"
    raise OtherWorkspace(
        f"This page showed {there}; you are in {actor.workspace_name} now, chosen in another "
        "window. Nothing was done.",
        place=(sent, name) if name else None,
    )
