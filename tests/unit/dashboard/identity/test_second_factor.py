"""A second factor: added, asked for after the password, refused when used, removed, on record."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from dashboard.identity.second_factor import codes, records
from dashboard.models import SecondFactor
from dashboard.people.logins import proposals
from tests.support.cast import Cast
from tests.unit.dashboard.access import confirm_waiting

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G07")]
PASSWORD = "manager-password"
NOW = 1_900_000_000.0


class Clock:
    """The time that codes are compared with."""

    def __init__(self) -> None:
        self.at = NOW

    def time(self) -> float:
        return self.at


@pytest.fixture
def clock(monkeypatch: Any) -> Clock:
    made = Clock()
    for module in ("identity.second_factor.records", "people.logins.attempts"):
        monkeypatch.setattr(f"dashboard.{module}.time", made)
    monkeypatch.setattr("dashboard.people.second_factor.time", made)
    return made


@pytest.fixture
def ada(cast: Cast) -> Any:
    """The reviewer, who has a password."""
    return cast.users["manager"]


def by_password(user: Any, **more: Any) -> tuple[Client, Any]:
    client = Client()
    body = {"username": user.username, "password": PASSWORD, **more}
    return client, client.post("/login/", body)


def added(user: Any, clock: Clock) -> tuple[str, list[str]]:
    """(secret, recovery codes) of a factor whose app last showed the code of ten minutes ago."""
    secret = codes.new_secret()
    period = int(clock.at - 600) // codes.PERIOD
    return secret, records.add(user, secret, period, actor=f"user:{user.pk}")


def enter(client: Client, code: str) -> Any:
    return client.post("/login/code/", {"code": code})


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def events(cast: Cast, kind: str = "factor.") -> list[tuple[str, dict[str, Any], str]]:
    rows = reversed(queries.workspace_events(cast.workspace).rows)
    return [(str(e.kind), e.data, e.actor) for e in rows if str(e.kind).startswith(kind)]


def send(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


# --- the arithmetic ----------------------------------------


def test_codes_are_those_of_the_standard() -> None:
    # RFC 6238, appendix B, SHA-1: the last six of its eight digits.
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for at, code in ((59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")):
        assert codes.code_at(secret, at) == code
        assert codes.period_of(secret, code, at) == at // 30
        assert codes.period_of(secret, f" {code[:3]} {code[3:]}", at + 30) == at // 30
        assert codes.period_of(secret, code, at + 60) is None
    assert codes.period_of(secret, "", 59) is codes.period_of(secret, "28708２", 59) is None


def test_recovery_codes_differ_and_are_told_from_those_of_an_app() -> None:
    made = [code for _ in range(20) for code in codes.new_recovery_codes()]
    assert len(set(made)) == 20 * codes.RECOVERY_COUNT
    assert all(re.fullmatch(r"([a-z2-7]{4}-){3}[a-z2-7]{4}", code) for code in made)
    assert codes.is_recovery(made[0])
    assert not codes.is_recovery("123 456")
    assert codes.digest_of(made[0]) == codes.digest_of(made[0].upper().replace("-", " "))


def test_the_picture_is_the_one_of_the_link() -> None:
    squares = codes.squares_of(codes.link_of(codes.new_secret(), "ada"))
    assert squares is not None
    assert squares.size > 30
    assert re.fullmatch(r"(M\d+ \d+h1v1h-1z)+", squares.path)


# --- from adding to signing in ----------------------------------------


@pytest.mark.slow
def test_from_adding_to_signing_in(cast: Cast, ada: Any, clock: Clock) -> None:
    client, answer = by_password(ada)
    assert answer.status_code == 302, "without a factor the password is enough"
    page = client.get("/account/second-factor/").content.decode()
    assert "<svg" in page
    assert "otpauth://totp/Gatepost:" in page
    assert not SecondFactor.objects.exists(), "looking stores nothing"
    secret = re.search(r'id="secret">([A-Z2-7 ]+)<', page)[1].replace(" ", "")  # type: ignore[index]
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]  # type: ignore[index]
    form = {"ticket": ticket, "code": codes.code_at(secret, clock.at), "password": PASSWORD}
    path = "/account/second-factor/add/"
    wrong = client.post(path, form | {"password": "guess"})
    assert (wrong.status_code, "This is not your password." in wrong.content.decode()) == (
        403,
        True,
    )
    wrong = client.post(path, form | {"code": "000000"})
    assert wrong.status_code == 422
    assert secret[:4] in wrong.content.decode(), "the app need not be set up again"
    assert "The code is not the one that the app shows now" in wrong.content.decode()
    assert client.post(path, form | {"code": " "}).status_code == 422
    assert client.post(path, form | {"ticket": "x"}).status_code == 422
    assert not SecondFactor.objects.exists()
    page = client.post(path, form).content.decode()
    recovery = re.findall(r"<li><code>([a-z2-7-]{19})</code>", page)
    assert len(recovery) == codes.RECOVERY_COUNT
    page = client.get("/account/second-factor/").content.decode()
    assert "10 left" in page
    assert recovery[0] not in page
    assert client.post(path, form).status_code == 409

    client, answer = by_password(ada, next="/approvals/")
    assert (answer.status_code, answer.url, signed_in(client)) == (303, "/login/code/", False)
    assert client.get("/").status_code == 302, "the password opens nothing by itself"
    assert client.get("/api/v1/threads/").status_code == 401
    assert "What does your authenticator app show?" in client.get("/login/code/").content.decode()
    refused = enter(client, form["code"])
    assert (refused.status_code, signed_in(client)) == (401, False), "its code was used before"
    assert "The code is required." in enter(client, " ").content.decode()
    clock.at += 30
    answer = enter(client, codes.code_at(secret, clock.at))
    assert (answer.status_code, answer.url, signed_in(client)) == (303, "/approvals/", True)
    assert client.get("/approvals/").status_code == 200
    begun = events(cast, "login.begun")
    assert [data["method"] for _, data, _ in begun] == ["password", "password and code"]
    assert "by password and code" in client.get("/account/sign-ins/").content.decode()

    other, _ = by_password(ada)
    assert enter(other, codes.code_at(secret, clock.at)).status_code == 401, "nor twice at once"
    assert enter(other, recovery[3].upper()).status_code == 303
    again, _ = by_password(ada)
    assert enter(again, recovery[3]).status_code == 401
    assert not signed_in(again)
    removed = client.post("/account/second-factor/remove/", {"code": "123456"})
    assert removed.status_code == 403
    assert "This code is wrong" in removed.content.decode()
    removed = client.post("/account/second-factor/remove/", {"code": recovery[4]})
    assert removed.status_code == 303
    assert by_password(ada)[1].status_code == 302
    mine = f"user:{ada.pk}"
    assert [(kind, data["left"], who) for kind, data, who in events(cast)] == [
        ("factor.added", 10, mine),
        ("factor.recovered", 9, mine),
        ("factor.recovered", 8, mine),
        ("factor.removed", 8, mine),
    ]
    assert verify_workspace(cast.workspace).intact


# --- what must not work ----------------------------------------


def test_wrong_codes_count_like_passwords(
    cast: Cast, ada: Any, clock: Clock, settings: Any
) -> None:
    secret, _ = added(ada, clock)
    settings.GATEPOST_LOGINS_PER_ACCOUNT = 3
    client, _ = by_password(ada)
    for _ in range(3):
        assert enter(client, "000000").status_code == 401
    right = codes.code_at(secret, clock.at)
    assert enter(client, right).status_code == 429
    assert by_password(ada)[1].status_code == 429, "one count of both"
    assert not signed_in(client)
    failed = [data["method"] for _, data, _ in events(cast, "login.failed")]
    assert failed == ["code"] * 3


def test_name_and_address_are_locked_out_by_wrong_codes(
    cast: Cast, ada: Any, clock: Clock, settings: Any
) -> None:
    secret, _ = added(ada, clock)
    settings.AXES_FAILURE_LIMIT = 2
    client, _ = by_password(ada)
    assert enter(client, "000000").status_code == 401
    assert enter(client, "000001").status_code == 429
    assert enter(client, codes.code_at(secret, clock.at)).status_code == 429
    assert by_password(ada)[1].status_code == 429


def test_a_right_code_is_given_back(ada: Any, clock: Clock, settings: Any) -> None:
    secret, _ = added(ada, clock)
    settings.GATEPOST_LOGINS_PER_ACCOUNT = 1
    for _ in range(3):
        clock.at += 30
        client, _ = by_password(ada)
        assert enter(client, codes.code_at(secret, clock.at)).status_code == 303
        assert signed_in(client)


def test_the_step_after_the_password_ends(ada: Any, clock: Clock) -> None:
    secret, _ = added(ada, clock)
    late, _ = by_password(ada)
    stranger = Client()
    changed, _ = by_password(ada)
    clock.at += 601
    code = codes.code_at(secret, clock.at)
    for client in (late, stranger):
        assert enter(client, code).url == "/login/"
        assert client.get("/login/code/").url == "/login/"
    clock.at -= 601
    ada.set_password("another good password")
    ada.save()
    assert enter(changed, codes.code_at(secret, clock.at)).url == "/login/"
    assert not signed_in(changed)


def test_a_disabled_person_enters_no_code(ada: Any, clock: Clock) -> None:
    secret, _ = added(ada, clock)
    client, _ = by_password(ada)
    ada.is_active = False
    ada.save()
    assert enter(client, codes.code_at(secret, clock.at)).url == "/login/"


def test_nobody_adds_with_the_ticket_of_somebody_else(cast: Cast, ada: Any, clock: Clock) -> None:
    theirs = proposals.propose(cast.users["operator"])
    client, _ = by_password(ada)
    body = {"ticket": theirs.ticket, "code": codes.code_at(theirs.secret, clock.at)}
    answer = client.post("/account/second-factor/add/", body | {"password": PASSWORD})
    assert answer.status_code == 422
    assert "begin again" in answer.content.decode()
    assert theirs.secret[:4] not in answer.content.decode()
    assert not SecondFactor.objects.exists()


def test_the_secret_is_ciphertext_and_the_codes_are_hashes(ada: Any, clock: Clock) -> None:
    secret, recovery = added(ada, clock)
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM gp_second_factor t")
        [(text,)] = cursor.fetchall()
        cursor.execute("SELECT data::text FROM gp_workspace_event")
        log = " ".join(row[0] for row in cursor.fetchall())
    assert "enc1." in text
    for shown in (secret, *recovery, *(code.replace("-", "") for code in recovery)):
        assert shown not in text
        assert shown not in log


def test_a_rotation_of_keys_keeps_the_factor(
    cast: Cast, ada: Any, clock: Clock, settings: Any
) -> None:
    from checkpoints.encryption.keys import new_key

    secret, _ = added(ada, clock)
    settings.GATEPOST_ENCRYPTION_KEYS = [new_key()]
    assert store.reencrypt(actor="user:0") == 1
    assert verify_workspace(cast.workspace).intact
    assert records.use(ada, codes.code_at(secret, clock.at)) == records.APP


def test_without_its_key_only_recovery_codes_let_in(ada: Any, clock: Clock, settings: Any) -> None:
    from checkpoints.encryption.keys import new_key

    settings.GATEPOST_ENCRYPTION_KEYS = [new_key()]
    secret, recovery = added(ada, clock)
    settings.GATEPOST_ENCRYPTION_KEYS = []
    client, _ = by_password(ada)
    answer = enter(client, codes.code_at(secret, clock.at))
    assert (answer.status_code, signed_in(client)) == (401, False)
    assert "cannot be checked" in answer.content.decode()
    assert enter(client, recovery[0]).status_code == 303


def test_a_factor_that_is_taken_away_past_the_log_is_found(
    cast: Cast, ada: Any, clock: Clock
) -> None:
    added(ada, clock)
    assert verify_workspace(cast.workspace).intact
    SecondFactor.objects.all().delete()
    assert "the second factor " in verify_workspace(cast.workspace).what


# --- other entry points ----------------------------------------


def test_the_api_does_what_the_page_does(cast: Cast, ada: Any, clock: Clock) -> None:
    client, _ = by_password(ada)
    assert client.get("/api/v1/second-factor/").json() == {"added_at": None, "recovery_left": 0}
    made = send(client, "second-factor/propose/", {}).json()
    body = {"ticket": made["ticket"], "code": "000000", "password": PASSWORD}
    assert send(client, "second-factor/", body).status_code == 422
    body["code"] = codes.code_at(made["secret"], clock.at)
    answer = send(client, "second-factor/", body)
    assert answer.status_code == 201
    recovery = answer.json()["recovery_codes"]
    assert client.get("/api/v1/second-factor/").json()["recovery_left"] == 10
    assert send(client, "second-factor/propose/", {}).status_code == 409
    assert (
        send(client, "second-factor/remove/", {"code": "1"}).json()["type"].endswith("wrong-code")
    )
    assert send(client, "second-factor/remove/", {"code": recovery[0]}).status_code == 200
    assert send(client, "second-factor/remove/", {"code": recovery[1]}).status_code == 404


def test_an_admin_removes_it_by_page_call_and_command(cast: Cast, ada: Any, clock: Clock) -> None:
    admin = cast.client("admin")
    at = f"/admin/auth/user/{ada.pk}"
    assert "Remove the second factor" not in admin.get(f"{at}/change/").content.decode()
    entries = (
        lambda: admin.post(f"{at}/second-factor/remove/"),
        lambda: send(admin, f"users/{ada.pk}/second-factor/remove/", {}),
        lambda: call_command(
            "user", "remove-second-factor", ada.username, as_user="admin", stdout=StringIO()
        ),
    )
    for entry in entries:
        added(ada, clock)
        assert "Remove the second factor" in admin.get(f"{at}/change/").content.decode()
        page = admin.get(f"{at}/change/").content.decode()
        for address in ("sign-out", "second-factor/remove"):
            # In two steps: what it does is read before the button can be pressed.
            fold = page[: page.index(f'action="{at}/{address}/"')].rpartition("<details")[2]
            assert "</details>" not in fold
            assert " open" not in fold.partition(">")[0]
            assert ada.username in fold.partition('<p class="help">')[2]
        entry()
        if records.has_factor(ada.pk):  # a reviewer's: a second admin confirms it
            assert confirm_waiting(cast) == 1
        assert not records.has_factor(ada.pk)
        kind, data, who = next(e for e in reversed(events(cast)) if e[0] == "factor.removed")
        assert (kind, data["name"], who) == (
            "factor.removed",
            ada.username,
            f"user:{cast.users['admin'].pk}",
        )
    assert send(admin, f"users/{ada.pk}/second-factor/remove/", {}).status_code == 404
    added(ada, clock)
    for name in ("operator", "auditor"):
        path = f"users/{ada.pk}/second-factor/remove/"
        assert send(cast.client(name), path, {}).status_code == 403
    assert records.has_factor(ada.pk)


def test_an_admin_removes_their_own_with_a_code_or_at_the_machine(cast: Cast, clock: Clock) -> None:
    own, admin = cast.users["admin"], cast.client("admin")
    secret, _ = added(own, clock)
    page = admin.post(f"/admin/auth/user/{own.pk}/second-factor/remove/", follow=True)
    assert "Remove your own with a code" in page.content.decode()
    assert send(admin, f"users/{own.pk}/second-factor/remove/", {}).status_code == 409
    assert records.has_factor(own.pk)
    code = {"code": codes.code_at(secret, clock.at)}
    assert send(admin, "second-factor/remove/", code).status_code == 200
    added(own, clock)
    words = ("user", "remove-second-factor", own.username)
    call_command(*words, as_user="admin", stdout=StringIO())
    assert not records.has_factor(own.pk)


def test_without_the_extra_there_is_no_picture(ada: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(codes, "find_spec", lambda _name: None)
    page = by_password(ada)[0].get("/account/second-factor/").content.decode()
    assert "QR code" not in page
    assert "scan the picture" not in page
    assert "otpauth://totp/Gatepost:" in page


def test_somebody_without_a_password_adds_none(cast: Cast, ada: Any) -> None:
    client, _ = by_password(ada)
    ada.set_unusable_password()
    ada.save()
    assert client.get("/").status_code == 302
    link = Client()
    link.force_login(ada, "dashboard.identity.backends.Links")
    assert "you have none" in link.get("/account/second-factor/").content.decode()
    assert send(link, "second-factor/propose/", {}).status_code == 409


def test_a_one_time_link_still_lets_in_whoever_lost_everything(ada: Any, clock: Clock) -> None:
    from dashboard.operate.demo import demo

    added(ada, clock)
    client = Client()
    link = demo.login_path(ada.username)
    client.post("/welcome/", {"sesame": link.partition("sesame=")[2]})
    assert signed_in(client)
