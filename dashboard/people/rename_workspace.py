"""Give one's own workspace another name."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.fields.validation import check_text
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.people.accounts.administration import rename_workspace
from dashboard.people.accounts.users import NAME_MAX


class RenameWorkspace(RequestShape):
    """Another name."""

    name: Annotated[str, NotBlank(NAME_MAX)]


class Workspace(Shape):
    """The workspace that the caller acts in."""

    id: UUID
    name: str


def rename(actor: Actor, wanted: RenameWorkspace) -> Workspace:
    """Give it the name; Invalid where another one has it."""
    check_text("$.name", wanted.name, NAME_MAX, required=True)
    rename_workspace(Administrator(actor, superuser=False), actor.workspace, wanted.name)
    return Workspace(id=actor.workspace, name=wanted.name.strip())


RENAME_WORKSPACE = Action(
    name="workspace.rename",
    call_id="workspace_rename",
    right="people",
    takes=RenameWorkspace,
    answers=Workspace,
    perform=rename,
    events=(WorkspaceEventKind.WORKSPACE_RENAMED,),
    summary="Give your workspace another name",
    description="422 where another one has it.",
    help="gives the workspace of the person of --as another name",
    done=lambda _, row: f"The workspace is named {row.name}.",
)
