"""Saved views: everybody keeps boards under names, auditors and admins questions to the record too.

Each may be shared with the workspace. A shared view is changed by its owner or an admin; a private
one is known to its owner alone, and one of the records to those who may open them. Events name only
views that are shared; of all others the log has hashes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import Field

from checkpoints.errors import InvalidValue
from checkpoints.names import check_name
from checkpoints.queries import InvalidQuery
from checkpoints.states import WorkspaceEventKind
from checkpoints.store.installation import recorded_rows
from dashboard.documents.state_shape import Shape
from dashboard.errors import Forbidden, Missing
from dashboard.fields.parameters import ADDRESS_MAX
from dashboard.identity.administrator import AUDIT
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action, Target
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.models import SavedView as ViewRow

from .surfaces import BOARD, RECORDS, SURFACES, readable

NAME_MAX: Final = 60
OF_PERSON_MAX: Final = 50
SHARED_MAX: Final = 50
THEIRS: Final = "Only the person who saved a shared view, or an admin, changes it."
RECORDS_ONLY: Final = "Questions to the record are saved by auditors and admins, who see its pages."
NOT_THERE: Final = "There is no such view in this workspace."


class SavedView(Shape):
    """A page under a name; `owner` is who saved it (`user:7`), `surface` is `board` or `records`.

    `address` is what stands behind the `?` of the page's address. `problem` says what of it this
    version no longer knows; empty where it knows all.
    """

    id: UUID
    owner: str
    name: str
    surface: str
    address: str
    shared: bool
    problem: str
    created_at: datetime

    @classmethod
    def of(cls, row: ViewRow) -> Self:
        """The row for the wire."""
        problem = readable(row)[1]
        names = cls.model_fields.keys() - {"problem"}
        return cls(problem=problem, **{name: getattr(row, name) for name in names})


class SavedViewList(Shape):
    """The caller's views by name, then those that others share."""

    results: list[SavedView]


class ChangeView(RequestShape):
    """Other values of a view; what is left out stays."""

    name: Annotated[str, NotBlank(NAME_MAX)] | None = None
    address: Annotated[str, Field(max_length=ADDRESS_MAX)] | None = Field(
        None,
        description="The part of the page's address after the `?`, such as "
        "`status=failed&q=agent:payments&columns=cost,idle` of a board or "
        "`payee=ACME&decision=approve` of the records; empty: the whole of it.",
    )
    shared: bool | None = Field(None, description="Whether all of the workspace see it.")


class SaveView(ChangeView):
    """A new view of the caller."""

    name: Annotated[str, NotBlank(NAME_MAX)]
    surface: Literal["board", "records"] = Field(
        BOARD, description="The page that it is of. The records are for auditors and admins."
    )


def list_views(actor: Actor, surface: str = "") -> list[ViewRow]:
    """The person's own by name, then those that others share; of one surface or of all."""
    require(actor, "read")
    surfaces = [one for one in SURFACES if may_open(actor, one) and surface in ("", one)]
    own = Q(owner=actor.person)
    rows = _rows(actor.workspace).filter(own | Q(shared=True), surface__in=surfaces)
    return [*rows.alias(theirs=~own).order_by("theirs", "name", "id")[: OF_PERSON_MAX + SHARED_MAX]]


def all_views(actor: Actor) -> SavedViewList:
    """All that the person sees, as calls and commands answer them."""
    return SavedViewList(results=[SavedView.of(row) for row in list_views(actor)])


def one_view(actor: Actor, view_id: UUID) -> ViewRow:
    """One's own view, or one that is shared."""
    require(actor, "read")
    return _seen_by(actor, _rows(actor.workspace).filter(pk=view_id).first())


def may_open(actor: Actor, surface: str) -> bool:
    """Return whether somebody has the page that a view of this surface opens."""
    return surface != RECORDS or not AUDIT.isdisjoint(actor.roles)


def may_change(actor: Actor, row: ViewRow) -> bool:
    """Return whether a view that the person sees is theirs to change."""
    return row.owner == actor.person or "admin" in actor.roles


def save_view(actor: Actor, wanted: SaveView) -> ViewRow:
    """Save a page under a name; raises InvalidValue for a name that is taken or a wrong address."""
    if not may_open(actor, wanted.surface):
        raise Forbidden(RECORDS_ONLY)
    values: dict[str, Any] = {
        "owner": actor.person,
        "name": _name(wanted.name),
        "surface": wanted.surface,
        "address": _address(wanted.surface, wanted.address or "", actor.workspace),
        "shared": bool(wanted.shared),
    }
    row = ViewRow(workspace_id=actor.workspace)
    with transaction.atomic():
        whose = {"owner": actor.person, "name": values["name"]}
        if recorded_rows.lock(ViewRow, actor.workspace, **whose):
            raise _taken()
        _refuse_more(actor, Q(owner=actor.person), OF_PERSON_MAX, "a person has")
        if values["shared"]:
            _refuse_more(actor, Q(shared=True), SHARED_MAX, "a workspace shares")
        data = _logged(row, values)
        recorded_rows.save(row, values, WorkspaceEventKind.VIEW_SAVED, actor=actor.id, data=data)
    return row


def change_view(actor: Actor, wanted: ChangeView, view_id: UUID) -> ViewRow:
    """Give a view another name or address, share it or not."""
    values: dict[str, Any] = wanted.model_dump(exclude_none=True)
    with transaction.atomic():
        row = _locked(actor, view_id)
        if "name" in values:
            values["name"] = _name(values["name"], row.name)
            others = _rows(actor.workspace).filter(owner=row.owner, name=values["name"])
            if others.exclude(pk=view_id).exists():
                raise _taken()
        if "address" in values:
            values["address"] = _address(row.surface, values["address"], actor.workspace)
        if values.get("shared") and not row.shared:
            _refuse_more(actor, Q(shared=True), SHARED_MAX, "a workspace shares")
        data = _logged(row, values)
        kind = WorkspaceEventKind.VIEW_CHANGED
        recorded_rows.save(row, values, kind, actor=actor.id, data=data, locked=True)
    return row


def remove_view(actor: Actor, _: Nothing, view_id: UUID) -> ViewRow:
    """Take a view away; what it was."""
    with transaction.atomic():
        row = _locked(actor, view_id)
        data = _logged(row, {})
        recorded_rows.delete(row, WorkspaceEventKind.VIEW_REMOVED, actor=actor.id, data=data)
    return row


def _rows(workspace: UUID) -> QuerySet[ViewRow]:
    return ViewRow.objects.filter(workspace_id=workspace)


def _locked(actor: Actor, view_id: UUID) -> ViewRow:
    """A view that the person may change, under its lock."""
    row = _seen_by(actor, recorded_rows.lock(ViewRow, actor.workspace, pk=view_id))
    if not may_change(actor, row):
        raise Forbidden(THEIRS)
    return row


def _seen_by(actor: Actor, row: ViewRow | None) -> ViewRow:
    """The row; a private one of somebody else is missing as one that never was."""
    is_seen = row and (row.owner == actor.person or row.shared) and may_open(actor, row.surface)
    if not row or not is_seen:
        raise Missing(NOT_THERE)
    return row


def _name(text: str, former: str = "") -> str:
    name = " ".join(text.split())
    if name != former:
        check_name(name, "name")
    return name


def _address(surface: str, text: str, workspace: UUID) -> str:
    try:
        return SURFACES[surface].canonical(text, workspace)
    except InvalidQuery as error:
        raise InvalidValue("address", f"“{error.shown}” {error.explanation}") from error


def _taken() -> InvalidValue:
    return InvalidValue("name", "is the name of another of these views")


def _refuse_more(actor: Actor, which: Q, most: int, who: str) -> None:
    if _rows(actor.workspace).filter(which).count() >= most:
        raise InvalidValue("name", f"is one too many: {who} at most {most} views; remove one first")


def _logged(row: ViewRow, values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a view for the log; its name only while it is shared, and when that ends."""
    data = {name: values.get(name, getattr(row, name)) for name in ("owner", "surface", "shared")}
    if data["shared"]:
        data["name"] = values.get("name", row.name)
    elif row.shared:
        data["name"] = row.name
    return {"view": str(row.id), **data}


def _view_named(actor: Actor, text: str) -> UUID:
    """The id of a view by its id, or by the name of one's own."""
    for row in list_views(actor):
        if text == str(row.id) or (text == row.name and row.owner == actor.person):
            return row.id
    raise Missing("There is no such view; `view list` shows them.")


VIEW: Final = Target(
    name="view", find=_view_named, metavar="VIEW", help="its id, or the name of one of yours"
)
SAVE: Final = Action(
    name="view.save",
    right="save_view",
    takes=SaveView,
    answers=SavedView,
    status=201,
    shape=lambda row, _: SavedView.of(row),
    perform=save_view,
    events=(WorkspaceEventKind.VIEW_SAVED,),
    summary="Save a board or a question to the record under a name",
    description="The address is read as the page reads it: a word that it does not take is "
    "refused and named. Names are unique for each person.",
    help="saves a board, or a question to the record, under a name",
    done=lambda _, row: f"Saved as “{row.name}”.",
    examples='view save "My failed" --address "status=failed&q=agent:payments"',
)
CHANGE: Final = Action(
    name="view.change",
    right="save_view",
    target=VIEW,
    takes=ChangeView,
    answers=SavedView,
    shape=lambda row, _: SavedView.of(row),
    perform=change_view,
    events=(WorkspaceEventKind.VIEW_CHANGED,),
    summary="Rename or share a view, or give it another address",
    description="A shared view is changed by the person who saved it, or by an admin.",
    help="changes a view; what is not named stays",
    done=lambda *_: "Changed.",
)
REMOVE: Final = Action(
    name="view.remove",
    right="save_view",
    target=VIEW,
    takes=Nothing,
    answers=SavedView,
    shape=lambda row, _: SavedView.of(row),
    perform=remove_view,
    events=(WorkspaceEventKind.VIEW_REMOVED,),
    summary="Remove a view",
    description="The view as it was.",
    help="removes a view",
    done=lambda _, row: f"“{row.name}” is removed.",
)
ALL: Final = reading(
    "views_list",
    SavedViewList,
    all_views,
    summary="List your views of the board and the records, and those that others share",
    description="The caller's own first.",
)
ONE: Final = reading(
    "views_retrieve",
    SavedView,
    lambda actor, view_id: SavedView.of(one_view(actor, view_id)),
    summary="A saved view",
    description="Of the caller, or shared.",
    refused=(404,),
)
