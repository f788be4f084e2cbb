"""Receivers of Django's signals: somebody signed in, out, or failed to.

A failure is an event where the name belongs to somebody; what else was typed is stored nowhere,
since it may be a password in the wrong place. How many there can be is limited at the sign-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth import BACKEND_SESSION_KEY, get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction

from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.identity.client_address import client_address
from dashboard.identity.sign_ins import records
from dashboard.identity.sign_ins.devices import cleaned

WAYS: Final = {"Links": "link", "Passwords": "password"}
WITH_CODE: Final = "password and code"
WITH_PASSKEY: Final = "password and passkey"
BESIDE: Final = "_gatepost_beside"  # of a request: what its person has shown beside the password
NOBODY: Final = "sign-in"  # who acts where nobody is known


def listen() -> None:
    """Connect the receivers."""
    user_logged_in.connect(_begun, dispatch_uid="gatepost.sign_ins.begun")
    user_logged_out.connect(_ended, dispatch_uid="gatepost.sign_ins.ended")
    user_login_failed.connect(_failed, dispatch_uid="gatepost.sign_ins.failed")


def _begun(request: Any, user: Any, **_: Any) -> None:
    backend = str(request.session.get(BACKEND_SESSION_KEY, "")).rpartition(".")[2]
    records.begin(
        user,
        request.session,
        method=getattr(request, BESIDE, "") or WAYS.get(backend, "sso"),
        address=client_address(request),
        agent=cleaned(str(request.META.get("HTTP_USER_AGENT", ""))),
    )


def _ended(request: Any, user: Any, **_: Any) -> None:
    ident = request.session.get(records.ID) if request is not None else None
    if user is not None and ident:
        records.end(user.pk, by=f"user:{user.pk}", why="out", only=ident)


def _failed(credentials: Mapping[str, Any], **_: Any) -> None:
    model = get_user_model()
    name = credentials.get("username")
    if not isinstance(name, str) or "\x00" in name:
        return
    user = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if user is not None:
        with transaction.atomic():
            method = "code" if credentials.get("method") == "code" else "password"
            records.log(Kind.LOGIN_FAILED, user.pk, {"method": method}, actor=NOBODY)
