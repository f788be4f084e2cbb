"""A right that is taken away counts with the next request, and closes an open socket in 15 s.

A real web process with its own pace (no test setting), real logins, forms of the admin site.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from typing import cast as typed
from uuid import UUID

import httpx
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from pytest_django import DjangoDbBlocker

from checkpoints import store
from dashboard.identity import tokens
from tests.conftest import real_database
from tests.faults.web import PASSWORD, Person, Web
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.live.following import Follower, Server

LIMIT = 15.0  # seconds, what we promise
# Who loses what: each is an operator of the default workspace with an open page.
LOSES = ("role", "login", "password", "own_password", "signs_out", "workspace")


@dataclass
class House:
    """A server, the people at it, an admin, and a thread that everybody follows."""

    server: Server
    cast: Cast
    thread: UUID
    people: dict[str, Person] = field(default_factory=dict)

    @property
    def web(self) -> Web:
        return typed(Web, SimpleNamespace(address=self.server.origin))

    def user(self, name: str) -> Any:
        return get_user_model().objects.get(username=name)

    def join(self, name: str, *roles: str) -> Person:
        """Somebody new, signed in by the form."""
        user = get_user_model().objects.create_user(name, password=PASSWORD)
        for role in roles:
            store.grant(self.cast.workspace, user.pk, role, actor="user:0")
        self.people[name] = Person(self.web, name)
        return self.people[name]

    def form(self, who: str, path: str, **values: str) -> httpx.Response:
        """Send a form as a browser does."""
        person = self.people[who]
        token = person.http.headers["X-CSRFToken"]
        answer = person.http.post(path, data={"csrfmiddlewaretoken": token, **values})
        assert answer.status_code in (200, 302, 303), answer.text
        return answer


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[House]:
    with django_db_blocker.unblock(), real_database("gatepost_test_withdrawn"):
        cast, agent = make_cast(), scene.make_agent()
        scene.alive(agent)
        server = Server(poll=600, recheck=float(settings.GATEPOST_RECHECK_SECONDS))
        try:
            made = House(server, cast, scene.start(cast.workspace, agent))
            made.join("boss", "admin")
            yield made
        finally:
            for person in made.people.values():
                person.http.close()
            server.stop()


def role_id(user: int, role: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM gp_membership WHERE user_id = %s AND role = %s", [user, role]
        )
        return int(cursor.fetchone()[0])


def take_role(house: House, name: str, role: str = "operator") -> None:
    row = role_id(house.user(name).pk, role)
    house.form("boss", f"/admin/checkpoints/membership/{row}/delete/", post="yes")


def withdrawals(house: House) -> dict[str, Callable[[], Any]]:
    """How each of them loses it, through HTTP."""

    def change(name: str, **values: str) -> None:
        user = house.user(name)
        house.form("boss", f"/admin/auth/user/{user.pk}/change/", username=name, **values)

    new = "another long password"
    own = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    value = {"password1": new, "password2": new, "usable_password": "true"}
    return {
        "role": lambda: take_role(house, "role"),
        "login": lambda: change("login", roles="operator"),  # the box “active” is not ticked
        "password": lambda: house.form(
            "boss", f"/admin/auth/user/{house.user('password').pk}/password/", **value
        ),
        # At another browser of theirs: this one's login ends.
        "own_password": lambda: house.form("elsewhere", "/admin/password_change/", **own),
        "signs_out": lambda: house.form("signs_out", "/logout/"),
        "workspace": lambda: change("workspace", is_active="on"),  # no role is ticked
    }


@pytest.mark.nightly
def test_sockets_close_within_fifteen_seconds(house: House) -> None:
    for name in LOSES:
        # Who changes the own password in the admin site has to see it.
        roles = ("operator", "auditor") if name == "own_password" else ("operator",)
        house.join(name, *roles)
    house.people["elsewhere"] = Person(house.web, "own_password")
    stays = house.join("stays", "operator")
    assert settings.GATEPOST_RECHECK_SECONDS < LIMIT
    with ExitStack() as stack:
        pages = {}
        for name in (*LOSES, "stays"):
            key = house.people[name].http.cookies[settings.SESSION_COOKIE_NAME]
            line = stack.enter_context(house.server.open(key))
            pages[name] = Follower(line, {f"thread:{house.thread}": (["thread-head"], 0)})
            pages[name].frame()
        for act in withdrawals(house).values():
            act()
        began = time.monotonic()
        # With the next request, whatever the socket still shows.
        for name in LOSES:
            answer = house.people[name].post(f"/threads/{house.thread}/pause/", {})
            assert answer.status_code in (401, 403), (name, answer.text)
            shown = house.people[name].http.get(f"/threads/{house.thread}/")
            assert shown.status_code in (302, 403), name
        for name in LOSES:
            code, reason = pages[name].closed(seconds=LIMIT - (time.monotonic() - began))
            assert code in (4401, 4403), (name, code)
            assert reason.endswith("."), name
        assert time.monotonic() - began < LIMIT
        # Whoever kept the right has kept the page: the next change comes.
        assert stays.post(f"/threads/{house.thread}/pause/", {}).status_code == 200
        pages["stays"].frame("Paused")
    for name in LOSES:
        assert shut_out(house, name), name


def shut_out(house: House, name: str) -> bool:
    """Whether a new socket with the old login is refused at once."""
    key = house.people[name].http.cookies.get(settings.SESSION_COOKIE_NAME, "x" * 32)
    with house.server.open(key) as line:
        code, _ = Follower(line).closed(seconds=10)
    return code in (4401, 4403)


@pytest.mark.nightly
def test_one_role_of_two_is_gone_from_the_page_and_at_once(house: House) -> None:
    """Reading stays: the socket stays open, what it shows loses its buttons."""
    person = house.join("both", "operator", "viewer")
    key = person.http.cookies[settings.SESSION_COOKIE_NAME]
    with house.server.open(key) as line:
        page = Follower(line, {f"thread:{house.thread}": (["thread-head"], 0)})
        page.frame()
        take_role(house, "both")
        answer = person.post(f"/threads/{house.thread}/resume/", {})
        assert (answer.status_code, "Needs the role operator" in answer.text) == (403, True)
        page.frame("Needs the role operator", seconds=LIMIT)


@pytest.mark.slow
def test_a_revoked_token_opens_nothing_with_the_next_call(house: House) -> None:
    user = house.cast.users["operator"]
    row, token = tokens.make(user, made_by="user:0")
    with httpx.Client(base_url=house.server.origin) as http:
        http.headers["Authorization"] = f"Bearer {token}"
        path = f"/api/v1/threads/{house.thread}/"
        assert http.get(path).status_code == 200
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM gp_token WHERE prefix = %s", [row.prefix])
            (ident,) = cursor.fetchone()
        house.form("boss", f"/admin/dashboard/token/{ident}/revoke/")
        for answer in (http.get(path), http.post(f"{path}pause/", json={})):
            assert answer.status_code == 401
            assert "revoked" in answer.json()["detail"]
        # A token opens no socket, whatever it may.
    with house.server.open("") as line:
        assert Follower(line).closed(seconds=10)[0] == 4401
