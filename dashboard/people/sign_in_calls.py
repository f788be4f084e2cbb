"""Sign-ins of the caller, and for admins the end of all of a person."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.identity.administrator import Administrator
from dashboard.identity.sign_ins.records import SignInRow
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.django_request import django_request
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.people.logins.confirmation import PASSWORD_MAX
from dashboard.people.own_password import change_own_password
from dashboard.people.sign_ins import (
    confirm_sign_in,
    end_other_sign_ins,
    end_sign_in,
    list_sign_ins,
    sign_out_user,
)


class SignInList(Shape):
    """Sign-ins, the last seen first."""

    results: list[SignInRow]


class SignInsEnded(Shape):
    """Number of sign-ins that have ended."""

    ended: int


class SignIns(MemberView):
    """Those of the caller."""

    @extend_schema(
        operation_id="sign_ins_list",
        responses={200: SignInList, **refusals()},
        summary="List where you are signed in",
    )
    def get(self, request: Request) -> Response:
        """The last seen first; a token has none of its own and sees those of its user."""
        rows = list_sign_ins(self.actor)
        return answer(SignInList(results=rows))


class EndOneSignIn(MemberView):
    """One of them."""

    changes = "sign_ins"

    @extend_schema(
        operation_id="sign_ins_end",
        request=Nothing,
        responses={200: SignInsEnded, **refusals(404, 422)},
        summary="Sign one browser out",
        description="It is refused with its next request, and its open pages are closed.",
    )
    def post(self, request: Request, sign_in_id: UUID) -> Response:
        """404 where it has ended before."""
        self.body(Nothing)
        end_sign_in(self.actor, sign_in_id)
        return answer(SignInsEnded(ended=1))


class EndOtherSignIns(MemberView):
    """All but the one that the call comes from."""

    changes = "sign_ins"

    @extend_schema(
        operation_id="sign_ins_end_others",
        request=Nothing,
        responses={200: SignInsEnded, **refusals(422)},
        summary="Sign all your other browsers out",
        description="Called with a token, all browsers of its user.",
    )
    def post(self, request: Request) -> Response:
        """Number that ended."""
        self.body(Nothing)
        return answer(SignInsEnded(ended=end_other_sign_ins(self.actor)))


class Confirm(RequestShape):
    """The password of the caller."""

    password: Annotated[str, NotBlank(PASSWORD_MAX)] = Field(description="Is stored nowhere.")


class Confirmed(Shape):
    """Time at which the caller showed who they are."""

    confirmed_at: datetime


class ConfirmSignIn(MemberView):
    """The caller shows once more who they are."""

    changes = "confirm"
    # A stored call would be a stored password.
    keyed = False

    @extend_schema(
        operation_id="sign_ins_confirm",
        request=Confirm,
        responses={200: Confirmed, **refusals(409, 422)},
        summary="Show by your password that it is you",
        description="Decisions of high risk need it, or a sign-in, not longer ago than "
        "GATEPOST_STEP_UP_MINUTES. For logins of browsers, not for tokens.",
    )
    def post(self, request: Request) -> Response:
        """403 `wrong-password` where it is not theirs; counted as at the sign-in."""
        body = self.body(Confirm)
        who = confirm_sign_in(self.actor, django_request(request), body.password)
        at = who.login.confirmed_at if who.login else None
        return answer(Confirmed.model_validate({"confirmed_at": at}))


class ChangePassword(RequestShape):
    """The password of the caller, and the next one."""

    password: Annotated[str, NotBlank(PASSWORD_MAX)] = Field(description="Is stored nowhere.")
    new_password: Annotated[str, NotBlank(PASSWORD_MAX)] = Field(
        description="Is stored as a hash and never answered."
    )


class PasswordChanged(Shape):
    """The password is another one, and its owner chose it."""

    changed: bool


class OwnPassword(MemberView):
    """The caller's password."""

    changes = "confirm"
    # A stored call would be a stored password.
    keyed = False

    @extend_schema(
        operation_id="sign_ins_password",
        request=ChangePassword,
        responses={200: PasswordChanged, **refusals(409, 422)},
        summary="Change your password",
        description="Your other sign-ins end. For logins of browsers, not for tokens. A person who "
        "signs in by a password that somebody else set decides nothing before this (403 "
        "`own-password`).",
    )
    def post(self, request: Request) -> Response:
        """403 `wrong-password` where the first is not theirs; counted as at the sign-in."""
        body = self.body(ChangePassword)
        http = django_request(request)
        change_own_password(self.actor, http, body.password, body.new_password)
        return answer(PasswordChanged(changed=True))


class SignOutUser(MemberView):
    """All sign-ins of a member."""

    changes = "people"

    @extend_schema(
        operation_id="users_sign_out",
        request=Nothing,
        responses={200: SignInsEnded, **refusals(404, 422)},
        summary="Sign a user out everywhere",
        description="The user may sign in again, unless disabled; tokens are unaffected.",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """Number that ended."""
        self.body(Nothing)
        who = Administrator(self.actor, superuser=False)
        return answer(SignInsEnded(ended=sign_out_user(who, user_id)))
