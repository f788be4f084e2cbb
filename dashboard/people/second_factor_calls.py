"""The second factor of the caller, and for admins the removal of somebody else's."""

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
from dashboard.identity.second_factor.codes import CODE_MAX
from dashboard.identity.second_factor.passkeys import PasskeyRow
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.django_request import django_request
from dashboard.kit.shapes.previews import SecondAdminAsked
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.people.logins.confirmation import PASSWORD_MAX
from dashboard.people.logins.proposals import TICKET_MAX, ProposedFactor
from dashboard.people.second_factor import (
    add_second_factor,
    confirm_by_code,
    passkeys,
    propose_second_factor,
    remove_factor_of,
    remove_passkey,
    remove_second_factor,
    second_factor,
)
from dashboard.people.sign_in_calls import Confirmed

Code = Annotated[str, NotBlank(CODE_MAX)]


# There is no row of a person without one, who is answered as well.
class SecondFactor(Shape):
    """State of the caller's second factor: since when there is one, and recovery codes left."""

    added_at: datetime | None
    recovery_left: int


class RecoveryCodes(Shape):
    """Codes that sign in once each in place of one of the app; no later call shows them."""

    recovery_codes: list[str]


class Removed(Shape):
    """True: it is gone."""

    removed: bool


class AddFactor(RequestShape):
    """The ticket of the proposal, a code of the app, and the password of the caller."""

    ticket: Annotated[str, NotBlank(TICKET_MAX)]
    code: Code
    password: Annotated[str, NotBlank(PASSWORD_MAX)] = Field(description="Is stored nowhere.")


class PasskeyList(Shape):
    """The caller's passkeys, the oldest first."""

    results: list[PasskeyRow]


class RemovePasskey(RequestShape):
    """The password of the caller."""

    password: Annotated[str, NotBlank(PASSWORD_MAX)] = Field(description="Is stored nowhere.")


class WithCode(RequestShape):
    """A code of the app, or a recovery code; either counts once."""

    code: Code


class OwnSecondFactor(MemberView):
    """The caller's, and a new one."""

    changes = "confirm"
    sets_up = True
    # A stored call would be a stored password, and a stored answer the recovery codes.
    keyed = False

    @extend_schema(
        operation_id="second_factor_retrieve",
        responses={200: SecondFactor, **refusals()},
        summary="Show your second factor",
    )
    def get(self, request: Request) -> Response:
        """`added_at` is null where there is none."""
        row = second_factor(self.actor)
        at, left = (row.added_at, row.recovery_left) if row else (None, 0)
        return answer(SecondFactor(added_at=at, recovery_left=left))

    @extend_schema(
        operation_id="second_factor_add",
        request=AddFactor,
        responses={201: RecoveryCodes, **refusals(409, 422)},
        summary="Add a second factor",
        description="Sign-ins by password need a code of the app from now on. For logins of "
        "browsers, not for tokens; tokens are unaffected.",
    )
    def post(self, request: Request) -> Response:
        """403 `wrong-password`, 422 for a wrong code, 409 where there is a second factor."""
        body = self.body(AddFactor)
        sender = django_request(request)
        recovery = add_second_factor(self.actor, sender, body.ticket, body.code, body.password)
        return answer(RecoveryCodes(recovery_codes=recovery), status=201)


class ProposeSecondFactor(MemberView):
    """A secret for an app."""

    changes = "confirm"
    sets_up = True
    keyed = False

    @extend_schema(
        operation_id="second_factor_propose",
        request=Nothing,
        responses={200: ProposedFactor, **refusals(409, 422)},
        summary="Get a secret for an authenticator app",
        description="Nothing is stored before a code of it is confirmed, within 15 minutes.",
    )
    def post(self, request: Request) -> Response:
        """409 for a token, for somebody without a password, and where there is one already."""
        self.body(Nothing)
        made = propose_second_factor(self.actor)
        return answer(made)


class RemoveOwnSecondFactor(MemberView):
    """The caller's, gone."""

    changes = "confirm"
    keyed = False

    @extend_schema(
        operation_id="second_factor_remove",
        request=WithCode,
        responses={200: Removed, **refusals(404, 409, 422)},
        summary="Remove your second factor",
    )
    def post(self, request: Request) -> Response:
        """403 `wrong-code`, counted as at the sign-in; 409 where a workspace requires it."""
        body = self.body(WithCode)
        remove_second_factor(self.actor, django_request(request), body.code)
        return answer(Removed(removed=True))


class ConfirmByCode(MemberView):
    """The caller shows once more who they are."""

    changes = "confirm"
    keyed = False

    @extend_schema(
        operation_id="second_factor_confirm",
        request=WithCode,
        responses={200: Confirmed, **refusals(404, 409, 422)},
        summary="Show by a code that it is you",
        description="Decisions of high risk take it like the password of `sign-ins/confirm`.",
    )
    def post(self, request: Request) -> Response:
        """403 `wrong-code`; counted as at the sign-in."""
        body = self.body(WithCode)
        who = confirm_by_code(self.actor, django_request(request), body.code)
        at = who.login.confirmed_at if who.login else None
        return answer(Confirmed.model_validate({"confirmed_at": at}))


class Passkeys(MemberView):
    """The caller's passkeys; only a browser on the page of the second factor adds one."""

    @extend_schema(
        operation_id="passkeys_list",
        responses={200: PasskeyList, **refusals()},
        summary="Your passkeys",
    )
    def get(self, request: Request) -> Response:
        """The oldest first."""
        rows = passkeys(self.actor)
        return answer(PasskeyList(results=rows))


class RemoveOnePasskey(MemberView):
    """One of them, gone."""

    changes = "confirm"
    # A stored call would be a stored password.
    keyed = False

    @extend_schema(
        operation_id="passkeys_remove",
        request=RemovePasskey,
        responses={200: Removed, **refusals(404, 409, 422)},
        summary="Remove one of your passkeys",
    )
    def post(self, request: Request, passkey_id: UUID) -> Response:
        """403 `wrong-password`, counted as at the sign-in."""
        body = self.body(RemovePasskey)
        remove_passkey(self.actor, django_request(request), passkey_id, body.password)
        return answer(Removed(removed=True))


class RemoveSecondFactorOfUser(MemberView):
    """A member's, gone."""

    changes = "people"

    @extend_schema(
        operation_id="users_second_factor_remove",
        request=Nothing,
        responses={200: Removed, 202: SecondAdminAsked, **refusals(404, 409, 422)},
        summary="Remove the second factor of a user",
        description="For somebody who lost app and recovery codes. Their sign-ins stay valid. "
        "Your own "
        "needs a code: 409. Passkeys go with it.",
    )
    def post(self, request: Request, user_id: int) -> Response:
        """404 where there is none."""
        self.body(Nothing)
        remove_factor_of(Administrator(self.actor, superuser=False), user_id)
        return answer(Removed(removed=True))
