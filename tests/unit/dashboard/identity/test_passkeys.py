"""Passkeys: added, used at the sign-in and before high risk, removed; and what must not count."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from checkpoints import queries
from checkpoints.chain import verify_workspace
from dashboard.errors import Conflict
from dashboard.identity.second_factor import codes, passkeys, records
from dashboard.models import Passkey, SecondFactor
from dashboard.people.logins import ceremonies
from tests.support.cast import Cast
from tests.unit.dashboard.authenticator import FLAGS, Authenticator

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G07")]
PASSWORD = "manager-password"
HOME = "/account/second-factor/"


class Clock:
    """The time that challenges are compared with."""

    def __init__(self) -> None:
        self.at = 1_900_000_000.0

    def time(self) -> float:
        return self.at


@pytest.fixture
def clock(monkeypatch: Any) -> Clock:
    made = Clock()
    monkeypatch.setattr("dashboard.people.logins.ceremonies.time", made)
    return made


@pytest.fixture
def ada(cast: Cast) -> Any:
    """The reviewer, who has an app."""
    user = cast.users["manager"]
    records.add(user, codes.new_secret(), 0, actor=f"user:{user.pk}")
    return user


def options_in(answer: Any) -> str:
    """What a page lets the browser do with a passkey."""
    options = re.search(r'data-options="([^"]+)"', answer.content.decode())
    assert options, answer.content.decode()[-2000:]
    return html.unescape(options[1])


def half_in(user: Any, password: str = PASSWORD) -> tuple[Client, str]:
    """(somebody who has entered the right password, what the page of the code offers)."""
    client = Client()
    answer: Any = client.post("/login/", {"username": user.username, "password": password})
    assert answer.url == "/login/code/"
    return client, options_in(client.get("/login/code/"))


def enter(client: Client, answer: str) -> Any:
    return client.post("/login/code/", {"code": "", "passkey": answer})


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def events(cast: Cast, kind: str = "passkey.") -> list[tuple[str, dict[str, Any], str]]:
    rows = reversed(queries.workspace_events(cast.workspace).rows)
    return [(str(e.kind), e.data, e.actor) for e in rows if str(e.kind).startswith(kind)]


def send(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_from_adding_to_signing_in_to_removing(cast: Cast, ada: Any) -> None:
    client, laptop, key = cast.client("manager"), Authenticator(), Authenticator(count=7)
    for one, name in ((laptop, "Work laptop"), (key, "Yellow key")):
        offered = options_in(client.get(HOME))
        wanted = json.loads(offered)
        assert (wanted["rp"]["id"], wanted["authenticatorSelection"]["userVerification"]) == (
            "testserver",
            "required",
        )
        form = {"name": name, "credential": one.create(offered), "password": PASSWORD}
        assert client.post(f"{HOME}passkeys/add/", form).status_code == 303
    assert len(json.loads(options_in(client.get(HOME)))["excludeCredentials"]) == 2
    page = client.get(HOME).content.decode()
    assert (page.count("never used"), "Work laptop" in page, "Yellow key" in page) == (
        2,
        True,
        True,
    )

    for one in (laptop, key, laptop):
        browser, offered = half_in(ada)
        assert len(json.loads(offered)["allowCredentials"]) == 2
        assert enter(browser, one.sign(offered)).status_code == 303
        assert signed_in(browser)
    assert events(cast, "login.begun")[-1][1]["method"] == "password and passkey"
    assert "by password and passkey" in browser.get("/account/sign-ins/").content.decode()
    assert "never used" not in browser.get(HOME).content.decode()

    rows = client.get("/api/v1/second-factor/passkeys/").json()["results"]
    assert [row["name"] for row in rows] == ["Work laptop", "Yellow key"]
    form = {"passkey": rows[0]["id"], "password": "guess"}
    wrong = client.post(f"{HOME}passkeys/remove/", form)
    assert (wrong.status_code, "This is not your password." in wrong.content.decode()) == (
        403,
        True,
    )
    form["password"] = PASSWORD
    assert client.post(f"{HOME}passkeys/remove/", form).status_code == 303
    assert client.post(f"{HOME}passkeys/remove/", form).status_code == 404
    assert client.post(f"{HOME}passkeys/remove/", form | {"passkey": "x"}).status_code == 404
    path = f"second-factor/passkeys/{rows[1]['id']}/remove/"
    assert send(client, path, {"password": "guess"}).json()["type"].endswith("wrong-password")
    assert send(client, path, {"password": PASSWORD}).status_code == 200
    assert client.get("/api/v1/second-factor/passkeys/").json() == {"results": []}

    mine = f"user:{ada.pk}"
    logged = [(kind, data["passkey"], who) for kind, data, who in events(cast)]
    first, second = (row["id"] for row in rows)
    assert logged == [
        ("passkey.added", first, mine),
        ("passkey.added", second, mine),
        ("passkey.removed", first, mine),
        ("passkey.removed", second, mine),
    ]
    assert "Yellow key" not in str(events(cast)), (
        "what people call their devices is not a matter of it"
    )
    assert verify_workspace(cast.workspace).intact


# --- what must not count ----------------------------------------


def _other_site(key: Authenticator, offered: str) -> str:
    return key.sign(offered, site="http://testserver.example")


def _other_port(key: Authenticator, offered: str) -> str:
    return key.sign(offered, site="http://testserver:8000")


def _other_host(key: Authenticator, offered: str) -> str:
    return key.sign(offered, host="example")


def _other_challenge(key: Authenticator, offered: str) -> str:
    return key.sign(offered, challenge="A" * 43)


def _unverified(key: Authenticator, offered: str) -> str:
    return key.sign(offered, flags=FLAGS.UP)


def _framed(key: Authenticator, offered: str) -> str:
    return key.sign(offered, cross=True)


def _other_key(key: Authenticator, offered: str) -> str:
    stranger = Authenticator()
    stranger.ident = key.ident
    return stranger.sign(offered)


def _creation(key: Authenticator, offered: str) -> str:
    return key.create(json.dumps(json.loads(offered) | {"rp": {"id": "testserver"}}))


def _nonsense(_key: Authenticator, _offered: str) -> str:
    return '{"id": 1, "response": []}'


@pytest.mark.parametrize(
    "forge",
    [
        _other_site,
        _other_port,
        _other_host,
        _other_challenge,
        _unverified,
        _framed,
        _other_key,
        _creation,
        _nonsense,
    ],
)
def test_a_forged_answer_does_not_let_in(
    cast: Cast, ada: Any, forge: Callable[[Authenticator, str], str]
) -> None:
    key = Authenticator()
    key.added(ada)
    client, offered = half_in(ada)
    answer = enter(client, forge(key, offered))
    assert (answer.status_code, signed_in(client)) == (401, False)
    assert "This passkey was refused" in answer.content.decode()
    assert events(cast, "login.failed")[-1][1]["method"] == "code"
    assert enter(client, key.sign(options_in(answer))).status_code == 303, "the page goes on"


def test_an_answer_counts_once_and_only_in_its_session(ada: Any) -> None:
    key = Authenticator()
    key.added(ada)
    client, offered = half_in(ada)
    answer = key.sign(offered)
    other, _ = half_in(ada)
    assert enter(other, answer).status_code == 401, "another session asked for it"
    assert enter(client, answer).status_code == 303
    again, offered = half_in(ada)
    assert enter(again, answer).status_code == 401, "nor in the next one"
    assert enter(again, key.sign(offered, site="http://x")).status_code == 401
    assert enter(again, key.sign(offered)).status_code == 401, "once, also when it was refused"
    assert not signed_in(again)
    assert passkeys.use(ada, key.ident, 100, b"one") == passkeys.USED
    raced = passkeys.use(ada, key.ident, 101, b"one")
    assert raced == passkeys.REPEATED, "also where two requests race"


def test_looking_stores_nothing(ada: Any) -> None:
    Authenticator().added(ada)
    client, _ = half_in(ada)
    before = dict(client.session)
    client.get("/login/code/")
    assert dict(client.session) == before


def test_a_challenge_expires(ada: Any, clock: Clock) -> None:
    key = Authenticator()
    key.added(ada)
    client, offered = half_in(ada)
    clock.at += ceremonies.SECONDS + 1
    assert enter(client, key.sign(offered)).status_code == 401
    client, offered = half_in(ada)
    clock.at += ceremonies.SECONDS
    assert enter(client, key.sign(offered)).status_code == 303


def test_a_challenge_to_confirm_signs_nobody_in(ada: Any) -> None:
    key = Authenticator()
    key.added(ada)
    client, _ = half_in(ada)
    request = SimpleNamespace(session=client.session, scheme="http", get_host=lambda: "testserver")
    for purpose, status in ((ceremonies.CONFIRM, 401), (ceremonies.SIGN_IN, 303)):
        offered = ceremonies.begin_using(request, ada, purpose)
        assert enter(client, key.sign(offered)).status_code == status, purpose


def test_the_passkey_of_somebody_else_does_not_let_in(cast: Cast, ada: Any) -> None:
    own, theirs = Authenticator(), Authenticator()
    own.added(ada)
    other = cast.users["operator"]
    records.add(other, codes.new_secret(), 0, actor="user:0")
    theirs.added(other)
    client, offered = half_in(ada)
    assert enter(client, theirs.sign(offered)).status_code == 401
    assert not signed_in(client)


@pytest.mark.parametrize("count", [4, 5, 0])
def test_a_copy_of_a_key_is_refused_and_on_record(cast: Cast, ada: Any, count: int) -> None:
    key = Authenticator(count=5)
    row = key.added(ada)
    client, offered = half_in(ada)
    key.count = count - 1 if count else -1
    assert enter(client, key.sign(offered)).status_code == 401
    kind, data, _ = events(cast)[-1]
    assert (kind, data["passkey"], data["count"], data["known"]) == (
        "passkey.refused",
        str(row.id),
        count,
        5,
    )
    assert verify_workspace(cast.workspace).intact
    assert Passkey.objects.get().sign_count == 5


def test_a_key_that_never_counts_is_used_again_and_again(ada: Any) -> None:
    key = Authenticator()
    key.added(ada)
    for _ in range(2):
        key.count = -1
        client, offered = half_in(ada)
        assert enter(client, key.sign(offered)).status_code == 303


def test_refused_passkeys_count_like_passwords(ada: Any, settings: Any) -> None:
    settings.GATEPOST_LOGINS_PER_ACCOUNT = settings.GATEPOST_LOGINS_PER_PAIR = 2
    key = Authenticator()
    key.added(ada)
    client, offered = half_in(ada)
    for _ in range(2):
        assert enter(client, "{}").status_code == 401
    assert enter(client, key.sign(offered)).status_code == 429
    assert not signed_in(client)


def test_an_answer_that_is_too_long_is_not_read(ada: Any) -> None:
    Authenticator().added(ada)
    client, _ = half_in(ada)
    answer = enter(client, "x" * (ceremonies.ANSWER_MAX + 1))
    assert (answer.status_code, "The passkey is longer" in answer.content.decode()) == (401, True)


# --- adding ----------------------------------------


def test_what_is_added_was_created_here_and_has_a_name(cast: Cast, ada: Any) -> None:
    client, key = cast.client("manager"), Authenticator()
    path = f"{HOME}passkeys/add/"
    offered = options_in(client.get(HOME))
    form = {"name": "Laptop", "credential": key.create(offered), "password": PASSWORD}
    wrong = [
        (form | {"password": "guess"}, 403, "This is not your password."),
        (form | {"name": " "}, 422, "The name is required"),
        (form | {"name": "x" * 61}, 422, "The name "),
        (form | {"credential": key.create(offered, site="http://x")}, 422, "try again"),
        (form | {"credential": ""}, 422, "try again"),
    ]
    for sent, status, says in wrong:
        answer = client.post(path, sent)
        assert (answer.status_code, says in answer.content.decode()) == (status, True), sent["name"]
    answer = client.post(path, form | {"name": "<b>", "password": "guess"})
    assert 'value="&lt;b&gt;"' in answer.content.decode(), "what was typed stays"
    assert client.post(path, form).status_code == 422, "a challenge counts once, also when refused"
    offered = options_in(client.get(HOME))
    unverified = form | {"credential": key.create(offered, flags=FLAGS.UP)}
    assert client.post(path, unverified).status_code == 422
    for status in (303, 409):
        form["credential"] = key.create(options_in(client.get(HOME)))
        assert client.post(path, form).status_code == status
    assert Passkey.objects.count() == 1


def test_a_person_has_ten_at_most_and_needs_an_app(cast: Cast, ada: Any) -> None:
    for i in range(passkeys.PASSKEYS_MAX):
        Authenticator().added(ada, f"Key {i}")
    with pytest.raises(Conflict, match="the most"):
        Authenticator().added(ada)
    with pytest.raises(Conflict, match="authenticator app first"):
        Authenticator().added(cast.users["operator"])
    form = {"name": "Laptop", "credential": "{}", "password": "operator-password"}
    assert cast.client("operator").post(f"{HOME}passkeys/add/", form).status_code == 422


def test_without_the_extra_the_page_says_how_to_install_it(
    cast: Cast, ada: Any, monkeypatch: Any
) -> None:
    key = Authenticator()
    key.added(ada)
    monkeypatch.setattr(ceremonies, "find_spec", lambda _name: None)
    page = cast.client("manager").get(HOME).content.decode()
    assert ".[sso]" in page
    assert "Laptop" in page, "it can be removed"
    monkeypatch.undo()
    client, offered = half_in(ada)
    monkeypatch.setattr(ceremonies, "find_spec", lambda _name: None)
    page = client.get("/login/code/").content.decode()
    assert "data-passkey" not in page
    assert "passkey.js" not in page
    assert enter(client, key.sign(offered)).status_code == 401


def test_an_address_is_no_name_of_a_site(cast: Cast, ada: Any, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "[::1]", "localhost"]
    client = cast.client("manager")
    for host, named in (("127.0.0.1:8000", False), ("[::1]:8000", False), ("localhost:80", True)):
        page = client.get(HOME, headers={"host": host}).content.decode()
        assert ("opened by an address" not in page, "data-options" in page) == (named, named)


# --- gone, and altered ----------------------------------------


def test_passkeys_go_with_the_app(cast: Cast, ada: Any) -> None:
    Authenticator().added(ada, "One")
    Authenticator().added(ada, "Two")
    words = ("user", "remove-second-factor", ada.username)
    call_command(*words, as_user="admin", stdout=StringIO())
    assert not Passkey.objects.exists()
    assert not SecondFactor.objects.exists()
    kinds = [kind for kind, _, _ in events(cast)]
    assert kinds == ["passkey.added"] * 2 + ["passkey.removed"] * 2
    assert verify_workspace(cast.workspace).intact


def test_one_that_is_exchanged_or_added_past_the_log_is_found(cast: Cast, ada: Any) -> None:
    row, other = Authenticator().added(ada), Authenticator()
    assert verify_workspace(cast.workspace).intact
    Passkey.objects.filter(pk=row.id).update(credential=bytes(other.data))
    assert "the passkey " in verify_workspace(cast.workspace).what


def test_nobody_removes_that_of_somebody_else(cast: Cast, ada: Any) -> None:
    row = Authenticator().added(ada)
    client = cast.client("operator")
    body = {"password": "operator-password"}
    assert send(client, f"second-factor/passkeys/{row.id}/remove/", body).status_code == 404
    form = body | {"passkey": str(row.id)}
    assert client.post(f"{HOME}passkeys/remove/", form).status_code == 404
    assert Passkey.objects.exists()
