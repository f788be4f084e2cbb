"""Calls to administer the workspace itself, its tokens and its people's passwords."""

from __future__ import annotations

from typing import Annotated

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.identity.administrator import Administrator
from dashboard.identity.tokens import TokenRow
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.previews import SecondAdminAsked
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.people.accounts.users import (
    LIMITS,
    end_token,
    list_tokens,
    set_user_password,
)
from dashboard.people.rename_workspace import Workspace


class TokenList(Shape):
    """Tokens of the workspace, newest first."""

    results: list[TokenRow]


class SetPassword(RequestShape):
    """Another password; null: none, so that only one-time links let the person in."""

    password: Annotated[str, NotBlank(LIMITS["password"])] | None = Field(
        description="Is stored as a hash and never answered."
    )


class PasswordSet(Shape):
    """State of the password: whether there is one."""

    has_password: bool


class OwnWorkspace(MemberView):
    """The workspace of the caller."""

    @extend_schema(
        operation_id="workspace_retrieve",
        responses={200: Workspace, **refusals()},
        summary="The workspace that you act in",
    )
    def get(self, request: Request) -> Response:
        """Of a token, that of the token."""
        return answer(Workspace(id=self.actor.workspace, name=self.actor.workspace_name))


class Tokens(MemberView):
    """The tokens of the workspace."""

    @extend_schema(
        operation_id="tokens_list",
        responses={200: TokenList, **refusals()},
        summary="The tokens of the workspace",
    )
    def get(self, request: Request) -> Response:
        """Newest first; for auditors and admins."""
        rows = list_tokens(Administrator(self.actor, superuser=False))
        return answer(TokenList(results=rows))


class RevokeOneToken(MemberView):
    """One of them."""

    changes = "people"

    @extend_schema(
        operation_id="tokens_revoke",
        request=Nothing,
        responses={200: TokenRow, **refusals(404, 422)},
        summary="End a token for good",
    )
    def post(self, request: Request, prefix: str) -> Response:
        """A second time changes nothing."""
        self.body(Nothing)
        who = Administrator(self.actor, superuser=False)
        return answer(end_token(who, prefix))


class PasswordOfUser(MemberView):
    """The password of a member."""

    changes = "people"
    # A stored call would be a stored password.
    keyed = False

    @extend_schema(
        operation_id="users_password",
        request=SetPassword,
        responses={200: PasswordSet, 202: SecondAdminAsked, **refusals(404, 422)},
        summary="Give a user another password, or none",
        description="Their sign-ins end.",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """403 for somebody who belongs to other workspaces too."""
        password = self.body(SetPassword).password
        who = Administrator(self.actor, superuser=False)
        set_user_password(who, user_id, password)
        return answer(PasswordSet(has_password=password is not None))
