"""The password, or a code, beside a decision with high risk; what was sent comes back with it."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest

from dashboard import errors
from dashboard.identity.permissions import Actor
from dashboard.identity.second_factor.records import has_factor
from dashboard.kit.pages.base import actor
from dashboard.people.logins import ceremonies
from dashboard.people.logins.attempts import WrongCode
from dashboard.people.logins.confirmation import WrongPassword
from dashboard.people.second_factor import confirm_by_code, confirm_by_passkey
from dashboard.people.sign_ins import confirm_sign_in

NEVER_SENT_BACK: Final = (
    "password",
    "confirm_code",
    "confirm_passkey",
    "csrfmiddlewaretoken",
    "acts_in",
)


def confirmed(request: HttpRequest) -> Actor:
    """The actor, confirmed where the form carries a password or code; raises what these raise."""
    if answer := request.POST.get("confirm_passkey"):
        return confirm_by_passkey(actor(request), request, answer)
    if "confirm_code" in request.POST:
        return confirm_by_code(actor(request), request, request.POST["confirm_code"])
    if "password" in request.POST:
        return confirm_sign_in(actor(request), request, request.POST["password"])
    return actor(request)


def needed(request: HttpRequest, error: errors.ActionError) -> dict[str, Any]:
    """Context of a page that asks for password or code; none for another refusal.

    `fields` is all that was sent, so that nothing of it has to be typed again.
    """
    wrong = isinstance(error, (WrongPassword, WrongCode))
    if not wrong and not isinstance(error, errors.NeedsConfirmation):
        return {}
    user: Any = request.user
    return {
        "confirm": {
            "verdict": request.POST.get("verdict", ""),
            "by_password": user.has_usable_password(),
            "by_code": has_factor(user.pk),
            "passkey": ceremonies.begin_using(request, user, ceremonies.CONFIRM),
            "error": error.detail if wrong else "",
            "fields": [
                (name, value)
                for name, values in request.POST.lists()
                if name not in NEVER_SENT_BACK
                for value in values
            ],
        }
    }
