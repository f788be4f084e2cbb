"""A second factor of one's own: an app added, its recovery codes shown, removed; and passkeys."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from dashboard import errors
from dashboard.identity.second_factor import codes, requirement
from dashboard.identity.second_factor.passkeys import NAME_MAX
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.people import second_factor
from dashboard.people.logins import ceremonies, proposals
from dashboard.people.logins.attempts import WrongCode
from dashboard.people.logins.confirmation import WrongPassword

PAGE: Final = "people/second_factor.html"
HOME: Final = "second_factor"
# By the path of a refusal: the field that it belongs beside, and what people call it.
_FIELDS: Final = {
    "$.code": ("code", "The code"),
    "$.password": ("password", "Your password"),
    "$.name": ("name", "The name"),
    "$.credential": ("credential", "The passkey"),
}
_OTHER: Final = ("ticket", "The secret")


@require_safe
@partial(member, sets_up=True)
@takes()
def index(request: HttpRequest) -> HttpResponse:
    """The second factor that is there, or a new secret for an app; nothing is stored by looking."""
    return _page(request)


@sensitive_post_parameters("code", "password", "ticket")
@require_POST
@partial(member, sets_up=True)
def add(request: HttpRequest) -> HttpResponse:
    """Add the app; the answer shows the recovery codes, which no other page ever does."""
    sent = request.POST
    try:
        recovery = second_factor.add_second_factor(
            actor(request),
            request,
            sent.get("ticket", ""),
            sent.get("code", ""),
            sent.get("password", ""),
        )
    except (errors.Invalid, WrongPassword) as error:
        return _page(request, error, ticket=sent.get("ticket", ""))
    return render(request, PAGE, {"recovery": recovery})


@sensitive_post_parameters("code")
@require_POST
@member
def remove(request: HttpRequest) -> HttpResponse:
    """Remove it, with a code that is valid now."""
    try:
        second_factor.remove_second_factor(actor(request), request, request.POST.get("code", ""))
    except (errors.Invalid, WrongCode) as error:
        return _page(request, error)
    flash(request, "The second factor is removed: your password alone signs you in.")
    return SeeOther(reverse(HOME))


@sensitive_post_parameters("password", "credential")
@require_POST
@member
def add_passkey(request: HttpRequest) -> HttpResponse:
    """Add the passkey that the browser has created on the page."""
    names = ("name", "credential", "password")
    try:
        row = second_factor.add_passkey(
            actor(request), request, *(request.POST.get(name, "") for name in names)
        )
    except (errors.Invalid, WrongPassword) as error:
        return _page(request, error, form="passkey")
    flash(request, f"The passkey {row.name} is added: use it in the place of a code.")
    return SeeOther(reverse(HOME))


@sensitive_post_parameters("password")
@require_POST
@member
def remove_passkey(request: HttpRequest) -> HttpResponse:
    """Remove a passkey, with the password."""
    sent = request.POST
    try:
        ident = UUID(sent.get("passkey", ""))
    except ValueError:
        raise errors.Missing("You have no such passkey.") from None
    try:
        second_factor.remove_passkey(actor(request), request, ident, sent.get("password", ""))
    except (errors.Invalid, WrongPassword) as error:
        return _page(request, error, form="removal")
    flash(request, "The passkey is removed.")
    return SeeOther(reverse(HOME))


def _page(
    request: HttpRequest,
    error: errors.ActionError | None = None,
    *,
    ticket: str = "",
    form: str = "",
) -> HttpResponse:
    """The page, with what was refused beside its field and the same secret where it still holds."""
    who = actor(request)
    factor = second_factor.second_factor(who)
    context: dict[str, Any] = {"factor": factor, "errors": _beside(error), "form": form}
    context["required"] = requirement.required_in(request.user)
    user: Any = request.user
    if factor is not None:
        context["passkeys"] = second_factor.passkeys(who)
        context["name_max"] = NAME_MAX
        context["name"] = request.POST.get("name", "") if form == "passkey" else ""
        context["no_passkeys"] = ceremonies.unavailable(request)
        if not context["no_passkeys"]:
            context["create"] = second_factor.propose_passkey(who, request)
    if factor is None and user.has_usable_password():
        context["proposal"] = proposal = _proposal(request, ticket)
        context["squares"] = codes.squares_of(proposal.link)
    return render(request, PAGE, context, status=error.status if error else 200)


def _proposal(request: HttpRequest, ticket: str) -> proposals.ProposedFactor:
    if ticket:
        try:
            return proposals.proposed(request.user, ticket)
        except errors.Invalid:
            pass  # too old: the page says so and shows a new one
    return second_factor.propose_second_factor(actor(request))


def _beside(error: errors.ActionError | None) -> dict[str, str]:
    if error is None:
        return {}
    if isinstance(error, WrongPassword):
        return {"password": error.detail}
    if isinstance(error, WrongCode):
        return {"code": error.detail}
    field, noun = _FIELDS.get(error.path, _OTHER)
    reason = error.reason if isinstance(error, errors.Invalid) else error.detail
    return {field: f"{noun} {reason}."}
