"""Changes of what people may do that wait for a second admin."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.identity.access_changes import AccessChangeRow
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.requests import Nothing
from dashboard.people.accounts.access_changes import (
    confirm_access_change,
    list_access_changes,
    refuse_access_change,
)


class AccessChangeList(Shape):
    """Changes of access: those that wait, then the newest."""

    results: list[AccessChangeRow]


class AccessChanges(MemberView):
    """The changes of access of the workspace."""

    @extend_schema(
        operation_id="access_changes_list",
        responses={200: AccessChangeList, **refusals()},
        summary="Changes of access, those that wait first",
    )
    def get(self, request: Request) -> Response:
        """For auditors and admins."""
        rows = list_access_changes(self.actor)
        return answer(AccessChangeList(results=rows))


class ConfirmAccessChange(MemberView):
    """Confirmation by a second admin."""

    changes = "access"

    @extend_schema(
        operation_id="access_changes_confirm",
        request=Nothing,
        responses={200: AccessChangeRow, **refusals(404, 409, 422)},
        summary="Confirm what another admin asked for",
        description="It is carried out as it was asked. 403 for a token, for the one who asked, "
        "and for the person concerned.",
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """409 where it ended, or is no longer possible."""
        self.body(Nothing)
        return answer(confirm_access_change(self.actor, change_id))


class RefuseAccessChange(MemberView):
    """Refusal by an admin."""

    changes = "access"

    @extend_schema(
        operation_id="access_changes_refuse",
        request=Nothing,
        responses={200: AccessChangeRow, **refusals(404, 409, 422)},
        summary="Refuse a change of access, or withdraw your own",
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """The change as it ended: it never happens."""
        self.body(Nothing)
        return answer(refuse_access_change(self.actor, change_id))
