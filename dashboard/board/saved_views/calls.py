"""Saved views of the board and of the records: one's own, and those that others share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.fields.parameters import ADDRESS_MAX
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank

from . import view_actions
from .changes import NAME_MAX, Choice
from .queries import ViewRow
from .surfaces import BOARD, readable


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

    def choice(self) -> Choice:
        """For the writer of views."""
        return Choice(self.name, self.address, self.shared)


class SaveView(ChangeView):
    """A new view of the caller."""

    name: Annotated[str, NotBlank(NAME_MAX)]
    surface: Literal["board", "records"] = Field(
        BOARD, description="The page that it is of. The records are for auditors and admins."
    )

    def choice(self) -> Choice:
        """For the writer of views."""
        return Choice(self.name, self.address, self.shared, self.surface)


class SavedViews(MemberView):
    """Those of the caller, or a new one."""

    changes = "save_view"

    @extend_schema(
        operation_id="views_list",
        responses={200: SavedViewList, **refusals()},
        summary="List your views of the board and the records, and those that others share",
    )
    def get(self, request: Request) -> Response:
        """The caller's own first."""
        rows = view_actions.list_views(self.actor)
        return answer(SavedViewList(results=[SavedView.of(row) for row in rows]))

    @extend_schema(
        operation_id="views_save",
        request=SaveView,
        responses={201: SavedView, **refusals(422)},
        summary="Save a board or a question to the record under a name",
        description="The address is read as the page reads it: a word that it does not take is "
        "refused and named. Names are unique for each person.",
    )
    def post(self, request: Request) -> Response:
        """201 with the view."""
        row = view_actions.save_view(self.actor, self.body(SaveView).choice())
        return answer(SavedView.of(row), status=201)


class OneView(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="views_retrieve",
        responses={200: SavedView, **refusals(404)},
        summary="A saved view",
    )
    def get(self, request: Request, view_id: UUID) -> Response:
        """Of the caller, or shared."""
        return answer(SavedView.of(view_actions.one_view(self.actor, view_id)))


class ChangeOneView(MemberView):
    """Other values."""

    changes = "save_view"

    @extend_schema(
        operation_id="views_change",
        request=ChangeView,
        responses={200: SavedView, **refusals(404, 422)},
        summary="Rename or share a view, or give it another address",
        description="A shared view is changed by the person who saved it, or by an admin.",
    )
    def post(self, request: Request, view_id: UUID) -> Response:
        """Values that are left out stay."""
        choice = self.body(ChangeView).choice()
        return answer(SavedView.of(view_actions.change_view(self.actor, view_id, choice)))


class RemoveOneView(MemberView):
    """A view that nobody needs now."""

    changes = "save_view"

    @extend_schema(
        operation_id="views_remove",
        request=Nothing,
        responses={200: SavedView, **refusals(404, 422)},
        summary="Remove a view",
    )
    def post(self, request: Request, view_id: UUID) -> Response:
        """The view as it was."""
        self.body(Nothing)
        return answer(SavedView.of(view_actions.remove_view(self.actor, view_id)))
