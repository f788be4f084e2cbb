"""Sign-ins: listed, ended one by one, refused at the next request, in the workspace's log."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client

from checkpoints import queries
from dashboard.identity import tokens
from dashboard.identity.sign_ins import records
from dashboard.identity.sign_ins.devices import cleaned, device_of
from dashboard.identity.visitors import visitor
from dashboard.models import SignIn
from tests.support.cast import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G07")]
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)
BODY: dict[str, Any] = {"data": "{}", "content_type": "application/json"}
PASSWORD = "correct horse battery"


@pytest.fixture
def ada(cast: Cast) -> Any:
    """The reviewer, with a password."""
    user = cast.users["manager"]
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(user: Any, agent: str = FIREFOX, password: str = PASSWORD) -> Client:
    client = Client(HTTP_USER_AGENT=agent)
    client.post("/login/", {"username": user.username, "password": password})
    return client


def events(cast: Cast, kind: str = "login.") -> list[tuple[str, dict[str, Any], str]]:
    rows = reversed(queries.workspace_events(cast.workspace).rows)
    return [(str(e.kind), e.data, e.actor) for e in rows if str(e.kind).startswith(kind)]


def test_the_page_lists_each_browser_and_marks_the_one_that_asks(cast: Cast, ada: Any) -> None:
    here, phone = sign_in(ada), sign_in(ada, PHONE)
    text = here.get("/account/sign-ins/").content.decode()
    assert text.count("this one") == 1
    assert "Firefox on Linux" in text
    assert "Safari on iPhone" in text
    assert "127.0.0.1" in text
    answer = phone.get("/api/v1/sign-ins/").json()["results"]
    assert {(row["device"], row["current"]) for row in answer} == {
        ("Firefox on Linux", False),
        ("Safari on iPhone", True),
    }
    assert {row["method"] for row in answer} == {"password"}


def test_a_sign_in_that_was_ended_opens_nothing_any_more(cast: Cast, ada: Any) -> None:
    here, phone = sign_in(ada), sign_in(ada, PHONE)
    key = phone.session.session_key
    assert visitor(key) is not None
    [other] = [r for r in here.get("/api/v1/sign-ins/").json()["results"] if not r["current"]]
    assert here.post(f"/account/sign-ins/{other['id']}/end/").status_code == 303
    assert phone.get("/").url == "/login/?next=/"
    assert phone.get("/api/v1/threads/").status_code == 401
    assert visitor(key) is None
    assert here.get("/").status_code == 200
    kinds = [(kind, data.get("why"), actor) for kind, data, actor in events(cast)]
    mine = f"user:{ada.pk}"
    assert kinds == [
        ("login.begun", None, mine),
        ("login.begun", None, mine),
        ("login.ended", "own", mine),
    ]
    assert here.post(f"/account/sign-ins/{other['id']}/end/").status_code == 404


def test_all_others_end_and_the_one_that_asks_goes_on(cast: Cast, ada: Any) -> None:
    here, *others = (sign_in(ada) for _ in range(3))
    assert here.post("/account/sign-ins/end-others/").status_code == 303
    assert [client.get("/").status_code for client in (here, *others)] == [200, 302, 302]
    assert "Sign out all others" not in here.get("/account/sign-ins/").content.decode()


def test_ending_the_one_that_asks_leads_to_the_sign_in_page(cast: Cast, ada: Any) -> None:
    here = sign_in(ada)
    [row] = here.get("/api/v1/sign-ins/").json()["results"]
    assert here.post(f"/account/sign-ins/{row['id']}/end/").url == "/login/"
    assert here.get("/").status_code == 302


def test_nobody_ends_a_sign_in_of_somebody_else(cast: Cast, ada: Any) -> None:
    theirs = sign_in(ada)
    [row] = theirs.get("/api/v1/sign-ins/").json()["results"]
    for name in ("operator", "admin"):
        client = cast.client(name)
        assert client.post(f"/account/sign-ins/{row['id']}/end/").status_code == 404
        assert client.post(f"/api/v1/users/{ada.pk}/sign-out/", **BODY).status_code == (
            200 if name == "admin" else 403
        )
    assert theirs.get("/").status_code == 302
    assert events(cast)[-1][1]["why"] == "admin"


def test_a_person_ends_all_of_their_own_by_command(cast: Cast, ada: Any) -> None:
    mine, theirs = [sign_in(ada), sign_in(ada)], cast.client("operator")
    out = StringIO()
    call_command("user", "sign-out", mine=True, as_user=ada.username, stdout=out)
    assert [client.get("/").status_code for client in mine] == [302, 302]
    assert theirs.get("/").status_code == 200
    assert out.getvalue().split() == ["sign-ins", "ended", "2"]
    assert events(cast)[-1][1]["why"] == "own"
    for words in ([], [ada.username, "--mine"]):
        with pytest.raises(SystemExit):
            call_command("user", "sign-out", *words, "--as", ada.username, stderr=StringIO())


def test_an_admin_ends_all_of_a_person_by_page_call_and_command(cast: Cast, ada: Any) -> None:
    admin = cast.client("admin")
    page = admin.get(f"/admin/auth/user/{ada.pk}/change/").content.decode()
    assert f"/admin/auth/user/{ada.pk}/sign-out/" in page
    entries = (
        lambda: admin.post(f"/admin/auth/user/{ada.pk}/sign-out/"),
        lambda: admin.post(f"/api/v1/users/{ada.pk}/sign-out/", **BODY),
        lambda: call_command("user", "sign-out", ada.username, as_user="admin", stdout=StringIO()),
    )
    for entry in entries:
        clients = [sign_in(ada), sign_in(ada)]
        entry()
        assert [client.get("/").status_code for client in clients] == [302, 302]
    assert len([e for e in events(cast) if e[0] == "login.ended"]) == 6
    stranger = cast.users["stranger"]
    assert admin.post(f"/api/v1/users/{stranger.pk}/sign-out/", **BODY).status_code == 404
    assert admin.get(f"/admin/auth/user/{ada.pk}/sign-out/").status_code == 403


def test_signing_out_and_failing_are_events_and_what_was_typed_is_not(cast: Cast, ada: Any) -> None:
    here = sign_in(ada)
    here.post("/logout/")
    sign_in(ada, password="hunter22-typed")
    sign_in(type(ada)(username="hunter22-typed"), password="x")
    kinds = [(kind, actor) for kind, _, actor in events(cast)]
    mine = f"user:{ada.pk}"
    assert kinds == [("login.begun", mine), ("login.ended", mine), ("login.failed", "sign-in")]
    assert "hunter22" not in str(events(cast, ""))
    assert "127.0.0.1" not in str(events(cast))
    assert not Session.objects.exists()


def test_another_password_takes_former_sign_ins_off_the_list(cast: Cast, ada: Any) -> None:
    here = sign_in(ada)
    ada.set_password("another long password")
    ada.save()
    assert here.get("/").status_code == 302
    again = sign_in(ada, password="another long password")
    assert len(again.get("/api/v1/sign-ins/").json()["results"]) == 1


def test_a_token_sees_its_users_browsers_and_ends_them_with_its_scope(cast: Cast, ada: Any) -> None:
    here = sign_in(ada)
    _, reads = tokens.make(ada, made_by="user:0", scopes=["read"])
    head = {"Authorization": f"Bearer {reads}"}
    [row] = Client().get("/api/v1/sign-ins/", headers=head).json()["results"]
    assert not row["current"]
    assert Client().post("/api/v1/sign-ins/end-others/", headers=head, **BODY).status_code == 403
    assert here.get("/").status_code == 200


def test_last_seen_is_noted_once_a_minute(cast: Cast, ada: Any) -> None:
    here = sign_in(ada)
    row = SignIn.objects.get(user=ada)
    SignIn.objects.update(last_seen_at="2026-01-01T00:00:00Z")
    here.get("/")
    row.refresh_from_db()
    assert row.last_seen_at.year == 2026
    assert row.last_seen_at.month == 1
    records._seen.clear()
    here.get("/")
    row.refresh_from_db()
    assert row.last_seen_at > row.begun_at


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
        ("curl/8.5.0", "curl"),
        ("", "an unknown program"),
        ("<script>alert(1)</script>", "an unknown program"),
    ],
)
def test_a_device_in_fixed_words(agent: str, words: str) -> None:
    assert device_of(agent) == words


def test_a_stored_agent_is_printable_and_bounded() -> None:
    assert cleaned("a\x00b\n\ud800" + "x" * 1_000) == "ab" + "x" * 398
