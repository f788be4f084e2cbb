"""Rows of sign-ins: begun by a login, seen once a minute, ended for good by deleting the login.

A login that is deleted cannot come back: Django refuses to save one that is gone. So a person
who was signed out is refused with the next request, and open sockets are checked immediately.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.models import SignIn
from dashboard.wire import hints

from .devices import device_of

log_line = structlog.get_logger("gatepost.logins")
ID: Final = "sign_in"  # where a login keeps which sign-in it belongs to
CONFIRMED: Final = "confirmed_at"  # and when its person last showed who they are
KEEP_DAYS: Final = 90
SHOWN_MAX: Final = 100
SEEN_SECONDS: Final = 60.0
_SEEN_MAX: Final = 20_000
_seen: dict[str, float] = {}
# (login key, sign-in, user) of those whose event was read: when, by this process's clock.
_begun: dict[tuple[str, str, int], float] = {}


@dataclass(frozen=True, slots=True)
class SignInRow:
    """A browser that is signed in; `current` is the one that this call comes from.

    `method` is password, password and code, link or sso; `agent` is what the browser calls itself.
    """

    id: UUID
    device: str
    agent: str
    address: str
    method: str
    begun_at: datetime
    last_seen_at: datetime
    current: bool = False


def begin(user: Any, session: Any, *, method: str, address: str, agent: str) -> None:
    """Note a login that has just begun, with its event, and that its person showed who they are."""
    if not session.session_key:
        session.create()
    former, ident = session.get(ID), uuid7()
    with transaction.atomic():
        if former:
            _end([UUID(former)], by=f"user:{user.pk}", why="again", drop=False)
        _forget_old(user.pk)
        SignIn.objects.create(
            id=ident,
            user=user,
            session_key=session.session_key,
            method=method,
            address=address,
            agent=agent,
        )
        begun_at = SignIn.objects.values_list("begun_at", flat=True).get(pk=ident)
        data = {"login": str(ident), "method": method, "device": device_of(agent)}
        log(Kind.LOGIN_BEGUN, user.pk, data, actor=f"user:{user.pk}")
    session[ID], session[CONFIRMED] = str(ident), begun_at.isoformat()
    _note_seen(session.session_key)
    _begun[session.session_key, str(ident), user.pk] = time.monotonic()


def has_begun(user_id: int, session: Any) -> bool:
    """True if the log of a workspace says that this login began, and the sign-in has not ended.

    A login that was written into the database by hand, or copied, has no such event: it signs
    nobody in. Read once a minute for each login; the row of one that ends is deleted immediately.
    """
    key, ident = session.session_key, session.get(ID)
    if not key or not isinstance(ident, str):
        return False
    known = (key, ident, user_id)
    if time.monotonic() - _begun.get(known, -SEEN_SECONDS) < SEEN_SECONDS:
        return True
    try:
        begun = queries.login_begun(UUID(ident), user_id)
    except ValueError:
        return False
    live = SignIn.objects.filter(pk=ident, user_id=user_id, session_key=key, ended_at=None)
    if not (begun and live.exists()):
        log_line.warning("login.without_event", user=user_id)
        return False
    if len(_begun) >= _SEEN_MAX:
        _begun.clear()
    _begun[known] = time.monotonic()
    return True


def follow(session: Any) -> None:
    """Keep the sign-in of a login that continues under another key."""
    if ident := session.get(ID):
        SignIn.objects.filter(pk=ident, ended_at=None).update(session_key=session.session_key)


def seen(session: Any) -> None:
    """Note that a sign-in is in use, at most once a minute; of several one notes."""
    key = session.session_key
    if not key or time.monotonic() - _seen.get(key, -SEEN_SECONDS) < SEEN_SECONDS:
        return
    _note_seen(key)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_sign_in SET last_seen_at = clock_timestamp() WHERE id = ("
            "SELECT id FROM gp_sign_in WHERE session_key = %s::varchar AND last_seen_at < "
            "clock_timestamp() - interval '1 minute' LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)",
            (key,),
        )


def live(user: Any, *, current: str = "") -> list[SignInRow]:
    """The sign-ins of a user that still open something, the last seen first."""
    rows = SignIn.objects.filter(user_id=user.pk, ended_at=None).order_by("-last_seen_at", "-id")
    listed = list(rows[:SHOWN_MAX])
    valid = _valid(user, [row.session_key for row in listed])
    return [
        SignInRow(
            id=row.id,
            device=device_of(row.agent),
            agent=row.agent,
            address=row.address,
            method=row.method,
            begun_at=row.begun_at,
            last_seen_at=row.last_seen_at,
            current=bool(current) and row.session_key == current,
        )
        for row in listed
        if row.session_key in valid
    ]


def end(user_id: int, *, by: str, why: str, only: UUID | None = None, besides: str = "") -> int:
    """End sign-ins of a user: one, or all but that of the login `besides`; how many ended.

    `why` is own, admin, out (signed out).
    """
    with transaction.atomic():
        rows = SignIn.objects.filter(user_id=user_id, ended_at=None)
        if only is not None:
            rows = rows.filter(pk=only)
        if besides:
            rows = rows.exclude(session_key=besides)
        return _end(rows.values_list("pk", flat=True), by=by, why=why)


def log(kind: Kind, user_id: int, data: dict[str, Any], *, actor: str) -> None:
    """Record it in the logs of a user's workspaces; of a member of none the first workspace's."""
    try:
        otherwise = queries.default_workspace()
    except NotFound:
        otherwise = None
    store.log_login(kind, user_id, data=data, actor=actor, otherwise=otherwise)


def _end(idents: Iterable[UUID], *, by: str, why: str, drop: bool = True) -> int:
    """End these, each with its event; without `drop` the login itself continues."""
    rows = SignIn.objects.select_for_update(no_key=True).filter(pk__in=list(idents), ended_at=None)
    listed = list(rows.order_by("pk"))
    keys = [row.session_key for row in listed if row.session_key]
    ids = [row.pk for row in listed]
    SignIn.objects.filter(pk__in=ids).update(
        ended_at=Now(), ended_by=by[:200], why=why, session_key=""
    )
    for row in listed:
        data = {"login": str(row.pk), "why": why}
        log(Kind.LOGIN_ENDED, row.user_id, data, actor=by)
    for known in [known for known in list(_begun) if known[0] in keys]:
        _begun.pop(known, None)
    if drop and keys:
        Session.objects.filter(session_key__in=keys).delete()
        transaction.on_commit(lambda: hints.logins_changed(keys))
    return len(listed)


def _valid(user: Any, keys: list[str]) -> set[str]:
    """Those of these logins that are not expired and hold the password of now."""
    engine: Any = import_module(settings.SESSION_ENGINE).SessionStore()
    wanted = user.get_session_auth_hash()
    stored = Session.objects.filter(session_key__in=keys, expire_date__gt=Now())
    return {
        key
        for key, text in stored.values_list("session_key", "session_data")
        if constant_time_compare(str(engine.decode(text).get(HASH_SESSION_KEY, "")), wanted)
    }


def _forget_old(user_id: int) -> None:
    """Drop rows of sign-ins that ended long ago, or whose login is gone: they name addresses."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_sign_in s WHERE s.user_id = %s::integer AND s.last_seen_at < "
            "clock_timestamp() - make_interval(days => %s::integer) AND (s.ended_at IS NOT NULL "
            "OR NOT EXISTS (SELECT FROM django_session d WHERE d.session_key = s.session_key))",
            (user_id, KEEP_DAYS),
        )


def _note_seen(key: str) -> None:
    if len(_seen) >= _SEEN_MAX:
        _seen.clear()
    _seen[key] = time.monotonic()
