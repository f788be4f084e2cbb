"""Who is behind a login is found by Django, with roles and teams by one statement."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.identity.permissions import actor_of
from dashboard.identity.seats import person_of, seat_of
from dashboard.identity.sign_ins import records
from dashboard.identity.visitors import visitor
from dashboard.models import SignIn
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.django_db
LINKS = "dashboard.identity.backends.Links"


def request_of(client: Client) -> Any:
    """A request with the session of this browser, as it comes with the next one."""
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    return SimpleNamespace(session=store(session_key=key))


def check_session(client: Client, **words: Any) -> None:
    """Change the session of this browser; None takes a word away."""
    session = client.session
    for name, value in words.items():
        if value is None:
            del session[name]
        else:
            session[name] = value
    session.save()


def group(name: str) -> Group:
    made: Group = Group.objects.create(name=name)
    return made


def test_a_request_reads_login_roles_and_teams_by_two_statements(cast: Cast) -> None:
    cast.users["manager"].groups.add(*map(group, ("legal", "a")))
    client = cast.client("manager")
    with CaptureQueriesContext(connection) as queries:
        user = get_user(request_of(client))
        actor = actor_of(user)
        seat = seat_of(actor)
    assert [n for q in queries for n in ("django_session", '"auth_user"') if n in q["sql"]] == [
        "django_session",
        '"auth_user"',
    ]
    assert len(queries) == 2
    assert (actor.roles, actor.workspace) == ({"reviewer"}, cast.workspace)
    assert seat == ("manager", ("a", "legal"))
    fresh = type(user).objects.get(pk=user.pk)
    names = [f.attname for f in user._meta.concrete_fields]
    assert [getattr(user, n) for n in names] == [getattr(fresh, n) for n in names]
    assert not user._state.adding


def test_what_was_read_counts_once(cast: Cast) -> None:
    """Whoever asks again about the same user is told what is so by then."""
    user = get_user(request_of(cast.client("manager")))
    assert actor_of(user).roles == {"reviewer"}
    rows("DELETE FROM gp_membership WHERE user_id = %s", (user.pk,))
    user.groups.add(group("legal"))
    user.is_superuser = True  # else nobody could act who is a member of nothing
    again = actor_of(user)
    assert again.roles == {"admin"}
    assert person_of(again).teams == ("legal",)


def _disabled(cast: Cast, client: Client) -> None:
    type(cast.users["manager"]).objects.filter(username="manager").update(is_active=False)


def _other_password(cast: Cast, client: Client) -> None:
    cast.users["manager"].set_password("another password")
    cast.users["manager"].save()


def _deleted(cast: Cast, client: Client) -> None:
    check_session(client, **{SESSION_KEY: "987654321"})


def _expired(cast: Cast, client: Client) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


STATES: dict[str, Callable[[Cast, Client], None]] = {
    "in force": lambda cast, client: None,
    "disabled": _disabled,
    "other password": _other_password,
    "deleted": _deleted,
    "over": _expired,
    "no session": lambda cast, client: Session.objects.all().delete() and None,
    "no hash": lambda cast, client: check_session(client, **{HASH_SESSION_KEY: None}),
    "forged hash": lambda cast, client: check_session(client, **{HASH_SESSION_KEY: "0" * 64}),
    "no backend": lambda cast, client: check_session(client, **{BACKEND_SESSION_KEY: None}),
    "unknown backend": lambda cast, client: check_session(
        client, **{BACKEND_SESSION_KEY: "os.path"}
    ),
    "link": lambda cast, client: check_session(client, **{BACKEND_SESSION_KEY: LINKS}),
}


@pytest.mark.parametrize("state", STATES)
def test_only_a_login_in_force_is_one(cast: Cast, state: str) -> None:
    client = cast.client("manager")
    assert get_user(request_of(client)).is_authenticated
    STATES[state](cast, client)
    is_in_force = state in ("in force", "link")
    assert get_user(request_of(client)).is_authenticated == is_in_force
    assert client.get("/api/v1/agents/").status_code == (200 if is_in_force else 401)
    if state in ("other password", "forged hash", "no hash"):
        assert not Session.objects.exists()  # ended, as Django ends it


def test_a_backend_that_is_not_in_use_any_more_opens_nothing(cast: Cast) -> None:
    client = cast.client("manager")
    with override_settings(AUTHENTICATION_BACKENDS=[LINKS]):
        assert not get_user(request_of(client)).is_authenticated


def test_a_login_made_under_the_last_secret_key_goes_on_under_the_new_one(cast: Cast) -> None:
    client = cast.client("manager")
    old = client.cookies[settings.SESSION_COOKIE_NAME].value
    with override_settings(SECRET_KEY="x" * 50, SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        request = request_of(client)
        assert get_user(request).username == "manager"
        assert request.session.session_key != old


# --- a login counts with its event only ----------------------------------------------------------


def planted(client: Client, change: Callable[[Any], None]) -> Client:
    """A browser whose login is a copy of this one's, written into the database by hand."""
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore()
    row = Session.objects.get(pk=client.cookies[settings.SESSION_COOKIE_NAME].value)
    words = store.decode(row.session_data)
    change(words)
    key = "planted0" * 4
    Session.objects.create(
        session_key=key, session_data=store.encode(words), expire_date=row.expire_date
    )
    other = Client()
    other.cookies[settings.SESSION_COOKIE_NAME] = key
    return other


def nothing(_words: Any) -> None:
    """A copy as it is."""


def without_sign_in(words: Any) -> None:
    del words[records.ID]


def of_another_sign_in(words: Any) -> None:
    words[records.ID] = str(uuid4())


def of_no_id(words: Any) -> None:
    words[records.ID] = "x"


@pytest.mark.parametrize("change", [nothing, without_sign_in, of_another_sign_in, of_no_id])
def test_a_login_written_by_hand_signs_nobody_in(cast: Cast, change: Any) -> None:
    client = cast.client("manager")
    assert client.get("/approvals/").status_code == 200
    other = planted(client, change)
    for path in ("/", "/approvals/", "/api/v1/threads/", "/admin/"):
        assert other.get(path).status_code in (302, 401, 403), path
        assert "login" in other.get(path).headers.get("Location", "login")
    assert visitor("planted0" * 4) is None, "nor does a socket open"
    assert client.get("/approvals/").status_code == 200, "the true one goes on"


def test_a_sign_in_that_was_written_as_well_has_no_event(cast: Cast) -> None:
    """Who writes the row of the sign-in too cannot write into the log unseen."""
    ident, client = str(uuid4()), cast.client("manager")

    def change(words: Any) -> None:
        words[records.ID] = ident

    other = planted(client, change)
    SignIn.objects.create(
        id=ident,
        user=cast.users["manager"],
        session_key="planted0" * 4,
        method="password",
        address="",
        agent="",
    )
    assert other.get("/approvals/").status_code == 302


def test_a_login_that_ended_does_not_come_back(cast: Cast) -> None:
    client = cast.client("manager")
    assert client.get("/approvals/").status_code == 200
    row = Session.objects.get(pk=client.cookies[settings.SESSION_COOKIE_NAME].value)
    records.end(cast.users["manager"].pk, by="user:0", why="admin")
    assert client.get("/approvals/").status_code == 302
    Session.objects.create(
        session_key=row.pk, session_data=row.session_data, expire_date=row.expire_date
    )
    client.cookies[settings.SESSION_COOKIE_NAME] = row.pk
    assert client.get("/approvals/").status_code == 302


def test_the_event_is_read_once_a_minute(cast: Cast) -> None:
    client = cast.client("manager")
    client.get("/approvals/")
    with CaptureQueriesContext(connection) as queries:
        client.get("/approvals/")
    assert not [q for q in queries if "login.begun" in q["sql"]]
