"""Another password for oneself, by the one of now."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from dashboard.errors import Invalid
from dashboard.fields.validation import check_text
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor, require
from dashboard.people.logins.confirmation import PASSWORD_MAX, confirm

from .accounts.administration import set_own_password


def change_own_password(actor: Actor, request: Any, password: str, new: str) -> None:
    """Give oneself the password `new` with the one of now; one's other logins end.

    Raises WrongPassword, TooMany, Conflict for a token and for somebody without a password, Invalid
    for a new one that is weak or the same.
    """
    require(actor, "confirm")
    check_text("$.new_password", new, PASSWORD_MAX, required=True)
    confirm(request, actor, password)
    if new == password:
        raise Invalid("$.new_password", "is your current password: choose another one")
    try:
        validate_password(new, request.user)
    except ValidationError as error:
        raise Invalid("$.new_password", " ".join(error.messages)) from error
    set_own_password(Administrator(actor, superuser=False), request.user, new, former=password)
    request.user.refresh_from_db(fields=["password"])
    # Keep the key of this login: its `login.begun` event names it.
    request.session[HASH_SESSION_KEY] = request.user.get_session_auth_hash()
