"""Show once more who one is: by the password, within a login that continues."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib.auth import authenticate
from django.db import connection

from dashboard.errors import Conflict, Forbidden
from dashboard.fields.validation import check_text
from dashboard.identity.lockout import give_back
from dashboard.identity.permissions import Actor, Login
from dashboard.identity.sign_ins.records import CONFIRMED

PASSWORD_MAX = 1_000


class WrongPassword(Forbidden):
    """The password is not that of the person who is signed in."""

    code, title = "wrong-password", "Wrong password"


def confirm(request: Any, actor: Actor, password: str) -> Actor:
    """Note in the login that its person has just shown who they are; them, confirmed.

    A wrong one counts and is logged as at the sign-in. Raises WrongPassword, TooMany, Conflict for
    a token and for somebody without a password, who signs in again instead.
    """
    if actor.login is None:
        raise Conflict("Only somebody who is signed in can show who they are; no token can.")
    return confirmed(request, actor, verified(request, request.user, password))


def confirmed(request: Any, actor: Actor, at: datetime) -> Actor:
    """The actor with a login that was confirmed at a time, which its session keeps."""
    request.session[CONFIRMED] = at.isoformat()
    return replace(actor, login=replace(actor.login or Login(""), confirmed_at=at))


def verified(request: Any, user: Any, password: str) -> datetime:
    """Check a password of a user; the time of the check. Raises as `confirm` does."""
    check_text("$.password", password, PASSWORD_MAX, required=True)
    if not user.has_usable_password():
        raise Conflict("You have no password. Sign out and in again: that shows who you are.")
    name = user.get_username()
    if request is None:  # at the machine itself: nothing is counted there
        right = user.check_password(password)
    else:
        known = authenticate(request, username=name, password=password)
        right = known is not None and known.pk == user.pk
    if not right:
        raise WrongPassword("This is not your password.")
    give_back(request)
    return clock()


def clock() -> datetime:
    """The time of the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    return at
