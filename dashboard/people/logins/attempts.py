"""Codes and passkeys that are tried: counted and logged like passwords; the step before them.

A person with the right password but no code yet is nobody: their session holds who they may
become, for ten minutes and as long as the password stays.
"""

from __future__ import annotations

import time
from typing import Any, Final

import structlog
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import PermissionDenied
from django.utils.crypto import constant_time_compare

from checkpoints.errors import CannotDecrypt
from dashboard.errors import Conflict, Forbidden
from dashboard.fields.validation import check_text
from dashboard.identity.lockout import PasswordLockout, give_back
from dashboard.identity.second_factor import records
from dashboard.identity.second_factor.codes import CODE_MAX
from dashboard.people.logins import ceremonies

log = structlog.get_logger("gatepost.encryption")
logins = structlog.get_logger("gatepost.logins")
STEP: Final = "second_step"
STEP_SECONDS: Final = 600


class WrongCode(Forbidden):
    """The code is wrong, or was used before."""

    code, title = "wrong-code", "Wrong code"


class WrongPasskey(WrongCode):
    """An authenticator answered something else, or too late."""

    code, title = "wrong-passkey", "Passkey refused"


def use_code(request: Any, user: Any, code: str) -> str:
    """Use a code of a user up: which kind it was.

    A wrong one counts and is logged as a password is, except at the machine itself, where there is
    no request. Raises WrongCode, TooMany, and Conflict where the key of the secret is missing.
    """
    check_text("$.code", code, CODE_MAX, required=True)
    name = "" if request is None else _let_try(request, user)
    try:
        kind = records.use(user, code)
    except CannotDecrypt as error:
        # No guess, and nothing that the person can do: a recovery code needs no key.
        log.error("second_factor.secret_unreadable", user=user.pk, error=error.message)
        raise Conflict(
            "Codes of apps cannot be checked at the moment: enter a recovery code, or ask the "
            "person who runs Gatepost for its encryption keys."
        ) from error
    if not kind:
        if request is not None:
            _failed(request, name)
        raise WrongCode("This code is wrong, or was used before. Wait for the next one.")
    give_back(request)
    return kind


def use_passkey(request: Any, user: Any, purpose: str, answer: str) -> None:
    """Let what an authenticator answered count; a wrong one counts and is logged as a code is.

    Raises WrongPasskey, TooMany.
    """
    name = _let_try(request, user)
    try:
        ceremonies.use(request, user, purpose, answer)
    except ceremonies.Refused as refusal:
        logins.warning("passkey.refused", user=user.pk, reason=str(refusal))
        _failed(request, name)
        raise WrongPasskey("This passkey was refused. Try again, or enter a code.") from None
    give_back(request)


def begin_step(request: Any, user: Any, wanted: str) -> None:
    """Remember who has entered the right password, and where they want to go."""
    give_back(request)
    request.session[STEP] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "at": int(time.time()),
        "next": wanted,
    }


def in_step(request: Any) -> tuple[Any, str] | None:
    """The user who has entered the right password and may enter a code now, and the page wanted."""
    step = request.session.get(STEP)
    if not step or not 0 <= time.time() - step["at"] <= STEP_SECONDS:
        return None
    user = get_user_model()._default_manager.filter(pk=step["user"], is_active=True).first()
    if user is None or not constant_time_compare(step["hash"], user.get_session_auth_hash()):
        return None
    return user, str(step["next"])


def end_step(request: Any) -> None:
    """Forget it."""
    request.session.pop(STEP, None)


def _let_try(request: Any, user: Any) -> str:
    """The name of a user who may try now; raises WrongCode for one who tried too often."""
    name = str(user.get_username())
    try:
        PasswordLockout().authenticate(request, username=name)
    except PermissionDenied:
        _failed(request, name)
        raise WrongCode("Too many attempts: wait a quarter of an hour.") from None
    return name


def _failed(request: Any, name: str) -> None:
    """Send what Django sends after a wrong password; the lockout hears it, and our log."""
    credentials = {"username": name, "method": "code"}
    user_login_failed.send(sender=__name__, credentials=credentials, request=request)
