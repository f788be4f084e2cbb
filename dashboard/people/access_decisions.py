"""Changes of what people may do that wait for a second admin: listed, confirmed, refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Missing
from dashboard.identity.access_changes import AccessChangeRow
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Target
from dashboard.kit.command import listing, verb
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing
from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, table
from dashboard.people.accounts.access_changes import (
    confirm_access_change,
    list_access_changes,
    refuse_access_change,
)


class AccessChangeList(Shape):
    """Changes of access: those that wait, then the newest."""

    results: list[AccessChangeRow]


def all_changes(actor: Actor) -> AccessChangeList:
    """Those of the workspace; for auditors and admins."""
    return AccessChangeList(results=list_access_changes(actor))


def _change_named(_: Actor, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing(f"There is no {text} in this workspace.") from None


CHANGE: Final = Target(name="id", find=_change_named, metavar="ID", help="`access list` shows it")
CONFIRM: Final = Action(
    name="access.confirm",
    call_id="access_changes_confirm",
    right="access",
    target=CHANGE,
    takes=Nothing,
    answers=AccessChangeRow,
    perform=lambda actor, _, change_id: confirm_access_change(actor, change_id),
    events=(WorkspaceEventKind.ACCESS_CONFIRMED,),
    summary="Confirm what another admin asked for",
    description="It is carried out as it was asked. 403 for a token, for the one who asked, "
    "and for the person concerned.",
    help="carries out a change of access that waits",
    done=lambda _, row: f"Confirmed: {', '.join(row.gives)} for {row.name}.",
    examples="access confirm 0197f1c2-6d1e-7a30-9b51-4f0b5a3c2d10 --as admin",
)
REFUSE: Final = Action(
    name="access.refuse",
    call_id="access_changes_refuse",
    right="access",
    target=CHANGE,
    takes=Nothing,
    answers=AccessChangeRow,
    perform=lambda actor, _, change_id: refuse_access_change(actor, change_id),
    events=(WorkspaceEventKind.ACCESS_REFUSED,),
    summary="Refuse a change of access, or withdraw your own",
    description="The change as it ended: it never happens.",
    help="lets a change of access not happen",
    done=lambda _, row: f"Refused: nothing changes for {row.name}.",
)
ALL: Final = reading(
    "access_changes_list",
    AccessChangeList,
    all_changes,
    summary="Changes of access, those that wait first",
    description="For auditors and admins.",
)


def _show(command: PersonalCommand, _: Actor, row: AccessChangeRow, *__: UUID) -> None:
    command.show(row, _table([row]))


def _table(rows: Sequence[AccessChangeRow]) -> Table:
    return table(
        "",
        ("id", "who", "gets", "asked by", "until", "state", "decided by"),
        (
            (
                str(row.id),
                row.name,
                ", ".join(row.gives),
                row.asked_by,
                f"{row.expires_at:%Y-%m-%d %H:%M}",
                row.state,
                row.decided_by,
            )
            for row in rows
        ),
    )


VERBS: Final = (
    listing(
        "lists changes of access, those that wait first",
        "access",
        all_changes,
        _table,
        empty="There are none.",
    ),
    verb(CONFIRM, _show),
    verb(REFUSE, _show),
)
