"""The people of a workspace and their roles: what an admin keeps as code instead of clicking it."""

from __future__ import annotations

from typing import Annotated, Any

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import ROLES
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.previews import SecondAdminAsked
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank, OneOf
from dashboard.people.accounts.users import (
    ISSUER_MAX,
    LIMITS,
    SUBJECT_MAX,
    UserRow,
    edit_user,
    link_user,
    list_users,
    make_user,
)


class ChangeUser(RequestShape):
    """Other values of a user; what is left out stays."""

    email: Annotated[str, Field(max_length=LIMITS["email"])] | None = None
    first_name: Annotated[str, Field(max_length=LIMITS["first_name"])] | None = None
    last_name: Annotated[str, Field(max_length=LIMITS["last_name"])] | None = None
    is_active: bool | None = Field(None, description="false: the person may no longer sign in.")
    roles: list[Annotated[str, OneOf(ROLES)]] | None = Field(
        None, description="Exactly these from now on."
    )

    def values(self) -> dict[str, Any]:
        """The members that were sent, without the roles."""
        values = self.model_dump(exclude={"roles", "username", "password"})
        return {name: value for name, value in values.items() if value is not None}


class MakeUser(ChangeUser):
    """A new user; without a password only one-time links let them in."""

    username: Annotated[str, NotBlank(LIMITS["username"])]
    password: Annotated[str, Field(max_length=LIMITS["password"])] | None = Field(
        None, description="Is stored as a hash and never answered."
    )
    roles: Annotated[list[Annotated[str, OneOf(ROLES)]], Field(min_length=1)]


class UserList(Shape):
    """The members of the workspace by name."""

    results: list[UserRow]


class Users(MemberView):
    """All members, or a new one."""

    changes = "people"
    # A stored call would be a stored password.
    keyed = False

    @extend_schema(
        operation_id="users_list",
        responses={200: UserList, **refusals()},
        summary="The members of the workspace and their roles",
    )
    def get(self, request: Request) -> Response:
        """By name; for auditors and admins."""
        result = list_users(Administrator(self.actor, superuser=False))
        return answer(UserList(results=result))

    @extend_schema(
        operation_id="users_make",
        request=MakeUser,
        responses={201: UserRow, 202: SecondAdminAsked, **refusals(404, 422)},
        summary="Make a user with roles",
    )
    def post(self, request: Request) -> Response:
        """In the workspace of the caller."""
        body = self.body(MakeUser)
        row = make_user(
            Administrator(self.actor, superuser=False),
            body.username,
            password=body.password,
            roles=body.roles,
            **body.values(),
        )
        return answer(row, status=201)


class OneUser(MemberView):
    """One member."""

    changes = "people"

    @extend_schema(
        operation_id="users_change",
        request=ChangeUser,
        responses={200: UserRow, 202: SecondAdminAsked, **refusals(404, 409, 422)},
        summary="Change a user and their roles",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """Change the members that are sent; the others stay."""
        body = self.body(ChangeUser)
        who = Administrator(self.actor, superuser=False)
        return answer(edit_user(who, user_id, body.values(), roles=body.roles))


class UnlinkUser(RequestShape):
    """A provider that no longer speaks for a user."""

    issuer: Annotated[str, Field(max_length=ISSUER_MAX)] = Field(
        "", description="Without one the configured provider; `scim` for the directory."
    )


class LinkUser(UnlinkUser):
    """A provider that speaks for a user, and what it calls them."""

    subject: Annotated[str, NotBlank(SUBJECT_MAX)] = Field(
        description="The claim `sub` of the provider."
    )


class Linked(Shape):
    """A provider that speaks for the user, or no longer does."""

    linked: bool


class LinkedUser(MemberView):
    """The provider of single sign-on speaks for a member from now on."""

    changes = "people"

    @extend_schema(
        operation_id="users_link",
        request=LinkUser,
        responses={200: Linked, 202: SecondAdminAsked, **refusals(404, 409, 422)},
        summary="Link a user to a provider of single sign-on",
        description="For an account that was made here. Another subject takes the former's place.",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """409 where no provider is configured, and for a subject of another account."""
        body = self.body(LinkUser)
        who = Administrator(self.actor, superuser=False)
        link_user(who, user_id, body.subject, issuer=body.issuer)
        return answer(Linked(linked=True))


class UnlinkedUser(MemberView):
    """The provider no longer speaks for a member."""

    changes = "people"

    @extend_schema(
        operation_id="users_unlink",
        request=UnlinkUser,
        responses={200: Linked, **refusals(404, 409, 422)},
        summary="Unlink a user from a provider of single sign-on",
        description="Their open sign-ins stay until they end.",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """404 for somebody whom the provider does not know."""
        body = self.body(UnlinkUser)
        who = Administrator(self.actor, superuser=False)
        link_user(who, user_id, "", issuer=body.issuer)
        return answer(Linked(linked=False))
