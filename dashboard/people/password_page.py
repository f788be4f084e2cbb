"""One's own password, changed with the one of now."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard import errors
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.people.logins.confirmation import WrongPassword
from dashboard.people.own_password import change_own_password

PAGE: Final = "people/password.html"


@sensitive_post_parameters("password", "new_password", "again")
@require_http_methods(["GET", "POST"])
@member
@takes()
def index(request: HttpRequest) -> HttpResponse:
    """The form; a POST changes it, and this login continues."""
    if request.method != "POST":
        return render(request, PAGE, _context(request))
    sent = request.POST
    new = sent.get("new_password", "")
    try:
        if new != sent.get("again", ""):
            raise errors.Invalid("$.again", "is not the same as the new one")
        change_own_password(actor(request), request, sent.get("password", ""), new)
    except errors.Invalid as error:
        context = _context(request) | {"errors": forms.problems_of(error)}
        return render(request, PAGE, context, status=error.status)
    except WrongPassword as wrong:
        context = _context(request) | {"errors": {"password": wrong.detail}}
        return render(request, PAGE, context, status=wrong.status)
    flash(request, "Your password is changed. Your other sign-ins have ended.")
    return SeeOther(reverse("sign_ins"))


def _context(request: HttpRequest) -> dict[str, object]:
    return {"given": actor(request).password_given, "errors": {}}
