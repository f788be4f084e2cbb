"""Nobody decides in another's name: what gives power over decisions waits for a second admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db import connection
from django.test import Client

from approvals.notify import endpoints, fan_out
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.chain.workspaces import verify_workspace
from dashboard.identity import tokens
from dashboard.identity.administrator import administrator_of
from dashboard.identity.passwords import given_hash, is_given
from dashboard.identity.second_factor import codes, records
from dashboard.people.accounts import administration
from dashboard.people.sso import identities
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused


@pytest.fixture
def second(cast: Cast) -> Any:
    """The browser of a second admin."""
    user = get_user_model().objects.create_user("second_admin", password="second-password")
    store.grant(cast.workspace, user.pk, "admin", actor="user:0")
    cast.users["second_admin"] = user
    return cast.client("second_admin")


@pytest.fixture
def row(cast: Cast) -> ApprovalRow:
    """A request that waits for a reviewer."""
    return scene.waiting(cast.workspace, scene.make_agent())


def roles_of(cast: Cast, name: str) -> set[str]:
    user = get_user_model().objects.get(username=name)
    return {role for where, _, role in queries.memberships(user.pk) if where == cast.workspace}


def waiting(client: Any) -> list[dict[str, Any]]:
    rows = client.get(f"{V1}/access-changes/").json()["results"]
    return [row for row in rows if row["state"] == "waiting"]


def kinds(cast: Cast) -> list[str]:
    rows = queries.workspace_events(cast.workspace, limit=500).rows
    return [row.kind for row in reversed(rows) if not row.kind.startswith("login.")]


def test_a_role_that_decides_waits_for_a_second_admin(cast: Cast, second: Any) -> None:
    admin, viewer = cast.client("admin"), cast.users["viewer"]
    answer = post(admin, f"/users/{viewer.pk}/", {"roles": ["viewer", "reviewer"]})
    assert answer.status_code == 202, answer.content
    assert answer.json()["url"] == "/access/"
    assert roles_of(cast, "viewer") == {"viewer"}
    [row] = waiting(admin)
    assert (row["name"], row["gives"]) == ("viewer", ["the role reviewer"])
    path = f"/access-changes/{row['id']}/confirm/"
    # Neither who asked, nor a token, nor another role confirms it.
    assert "another admin" in refused(post(admin, path, {}), 403)["detail"]
    _, token = tokens.make(cast.users["second_admin"], made_by="t", scopes=["administer"])
    refused(post(cast.client("nobody"), path, {}, Authorization=f"Bearer {token}"), 403)
    for who in ("manager", "auditor", "operator"):
        refused(post(cast.client(who), path, {}), 403)
    refused(post(cast.client("stranger"), path, {}), 404)
    assert roles_of(cast, "viewer") == {"viewer"}

    confirmed = post(second, path, {})
    assert (confirmed.status_code, confirmed.json()["state"]) == (200, "confirmed")
    assert roles_of(cast, "viewer") == {"viewer", "reviewer"}
    assert kinds(cast)[-4:] == [
        *("access.asked", "token.created", "role.granted", "access.confirmed"),
    ]
    # Once.
    refused(post(second, path, {}), 409)
    assert verify_workspace(cast.workspace).intact


def test_what_is_refused_never_happens(cast: Cast, second: Any) -> None:
    admin, viewer = cast.client("admin"), cast.users["viewer"]
    post(admin, f"/users/{viewer.pk}/", {"roles": ["reviewer"], "first_name": "Vi"})
    [row] = waiting(second)
    ended = post(second, f"/access-changes/{row['id']}/refuse/", {})
    assert ended.json()["state"] == "refused"
    refused(post(second, f"/access-changes/{row['id']}/confirm/", {}), 409)
    assert roles_of(cast, "viewer") == {"viewer"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT change, state FROM gp_access_change")
        assert cursor.fetchall() == [("", "refused")]
    assert verify_workspace(cast.workspace).intact


def test_an_account_that_decides_is_made_when_a_second_admin_confirms(
    cast: Cast, second: Any
) -> None:
    admin = cast.client("admin")
    body = {"username": "eve", "roles": ["reviewer"], "password": "x7" * 8}
    assert post(admin, "/users/", body).status_code == 202
    assert not get_user_model().objects.filter(username="eve").exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT change FROM gp_access_change")
        assert body["password"] not in cursor.fetchone()[0]
    [row] = waiting(admin)
    assert post(second, f"/access-changes/{row['id']}/confirm/", {}).status_code == 200
    assert get_user_model().objects.get(username="eve").check_password(body["password"])
    assert roles_of(cast, "eve") == {"reviewer"}


def test_a_disabled_reviewer_and_a_superuser_wait_too(cast: Cast, second: Any) -> None:
    admin, manager = cast.client("admin"), cast.users["manager"]
    assert post(admin, f"/users/{manager.pk}/", {"is_active": False}).status_code == 200
    assert post(admin, f"/users/{manager.pk}/", {"is_active": True}).status_code == 202
    assert post(admin, f"/users/{manager.pk}/", {"email": "me@e.example"}).status_code == 202
    assert [row["gives"] for row in waiting(second)] == [
        ["another mail address"],
        ["the login again"],
    ]
    # What gives no power over decisions is done at once.
    viewer = cast.users["viewer"]
    assert post(admin, f"/users/{viewer.pk}/", {"email": "v@e.example"}).status_code == 200
    assert post(admin, f"/users/{viewer.pk}/", {"roles": ["operator"]}).status_code == 200


def test_whoever_lost_the_role_of_an_admin_gives_nothing(cast: Cast, second: Any) -> None:
    admin, viewer = cast.users["admin"], cast.users["viewer"]
    post(cast.client("admin"), f"/users/{viewer.pk}/", {"roles": ["reviewer"]})
    [row] = waiting(second)
    store.withdraw(cast.workspace, admin.pk, "admin", actor="user:0")
    store.grant(cast.workspace, admin.pk, "viewer", actor="user:0")
    message = refused(post(second, f"/access-changes/{row['id']}/confirm/", {}), 409)["detail"]
    assert "no longer an admin" in message
    assert roles_of(cast, "viewer") == {"viewer"}


def test_nobody_confirms_what_is_about_themselves(cast: Cast, second: Any) -> None:
    own = cast.users["second_admin"].pk
    body = {"roles": ["admin", "reviewer"]}
    assert post(cast.client("admin"), f"/users/{own}/", body).status_code == 202
    [row] = waiting(second)
    refused(post(second, f"/access-changes/{row['id']}/confirm/", {}), 403)
    assert roles_of(cast, "second_admin") == {"admin"}


def test_on_the_machine_one_person_is_enough_and_it_is_on_record(cast: Cast) -> None:
    post(cast.client("admin"), f"/users/{cast.users['viewer'].pk}/", {"roles": ["reviewer"]})
    [row] = waiting(cast.client("admin"))
    call_command("access", "confirm", row["id"], "--as", "admin")
    assert roles_of(cast, "viewer") == {"reviewer"}
    event = queries.workspace_events(cast.workspace, limit=1).rows[0]
    assert (event.kind, event.actor) == ("access.confirmed", "command:access")
    call_command("user", "roles", "operator", "operator,reviewer", "--as", "admin")
    event = queries.workspace_events(cast.workspace, limit=1).rows[0]
    assert (event.kind, event.actor) == ("access.changed", "command:access")
    assert event.data["gives"] == ["the role reviewer"]


def test_the_person_concerned_gets_a_mail(cast: Cast, second: Any) -> None:
    chosen = endpoints.Wanted(name="mail", people=["operator"], events=["approval.decided"])
    endpoints.make(cast.workspace, "email", chosen, actor="user:0")
    viewer = cast.users["viewer"]
    post(cast.client("admin"), f"/users/{viewer.pk}/", {"roles": ["reviewer"]})
    [row] = waiting(second)
    post(second, f"/access-changes/{row['id']}/confirm/", {})
    while fan_out.spread():
        pass
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, recipient FROM gp_delivery")
        assert cursor.fetchall() == [("access.changed", f"user:{viewer.pk}")] * 2


def test_the_page_confirms_and_refuses(cast: Cast, second: Any) -> None:
    admin, viewer = cast.client("admin"), cast.users["viewer"]
    post(admin, f"/users/{viewer.pk}/", {"roles": ["reviewer"]})
    [row] = waiting(admin)
    assert "another admin has to confirm" in admin.get("/access/").content.decode()
    page = second.get("/access/").content.decode()
    assert f"/access/{row['id']}/confirm/" in page
    assert second.post(f"/access/{row['id']}/confirm/").status_code == 303
    assert roles_of(cast, "viewer") == {"reviewer"}
    post(admin, f"/users/{viewer.pk}/", {"roles": ["reviewer", "admin"]})
    [row] = waiting(admin)
    assert admin.post(f"/access/{row['id']}/refuse/").status_code == 303  # taken back
    assert roles_of(cast, "viewer") == {"reviewer"}
    # Who does not oversee it sees what stands for themselves alone.
    page = cast.client("manager").get("/access/").content.decode()
    assert "No service decides in your name" in page
    assert 'id="access-ended"' not in page


# --- passwords ------------------------------------------------------------------------------------


def sign_in(name: str, password: str) -> Client:
    """A browser that signs in by a password, as the page does it."""
    client = Client()
    answer = client.post("/login/", {"username": name, "password": password})
    assert answer.status_code in (302, 303), answer.content
    return client


def test_the_password_of_a_reviewer_waits_for_a_second_admin(cast: Cast, second: Any) -> None:
    admin, manager = cast.client("admin"), cast.users["manager"]
    body = {"password": "x7" * 8}
    assert post(admin, f"/users/{manager.pk}/password/", body).status_code == 202
    form = {"usable_password": "true", "password1": "y8" * 8, "password2": "y8" * 8}
    answer = admin.post(f"/admin/auth/user/{manager.pk}/password/", form)
    assert (answer.status_code, answer["Location"]) == (303, "/access/")
    manager.refresh_from_db()
    assert manager.check_password("manager-password")
    by_call = next(one for one in reversed(waiting(admin)))
    assert by_call["gives"] == ["another password"]
    assert post(second, f"/access-changes/{by_call['id']}/confirm/", {}).status_code == 200
    manager.refresh_from_db()
    assert manager.check_password(body["password"])
    assert verify_workspace(cast.workspace).intact
    # Of somebody who decides nothing it is set at once.
    viewer = cast.users["viewer"]
    assert post(admin, f"/users/{viewer.pk}/password/", body).status_code == 200


def test_a_password_that_somebody_else_set_decides_nothing(cast: Cast, row: ApprovalRow) -> None:
    who = administrator_of(cast.users["admin"])
    administration.set_password(who, cast.users["manager"].pk, "x7" * 8)  # on the machine
    reviewer = sign_in("manager", "x7" * 8)
    verdict = {"verdict": "approve", "proposal_hash": row.standing_hash}
    problem = refused(post(reviewer, f"/approvals/{row.id}/decide/", verdict), 403)
    assert problem["type"].endswith(":own-password")
    assert "/account/password/" in problem["detail"]
    page = reviewer.post(f"/approvals/{row.id}/decide/", verdict)
    assert (page.status_code, "/account/password/" in page.content.decode()) == (403, True)
    assert reviewer.get("/approvals/").status_code == 200  # reading is still allowed
    assert (
        "You can’t decide until you change it"
        in reviewer.get("/account/password/").content.decode()
    )

    # Signing in again, as its owner or not, changes nothing about that.
    reviewer = sign_in("manager", "x7" * 8)
    refused(post(reviewer, f"/approvals/{row.id}/decide/", verdict), 403)

    for wrong in (
        {"password": "not mine", "new_password": "z9" * 8},
        {"password": "x7" * 8, "new_password": "x7" * 8},
        {"password": "x7" * 8, "new_password": "short"},
    ):
        assert post(reviewer, "/sign-ins/password/", wrong).status_code in (403, 422)
    form = {"password": "x7" * 8, "new_password": "z9" * 8, "again": "z9" * 8}
    assert reviewer.post("/account/password/", form | {"again": "other"}).status_code == 422
    assert reviewer.post("/account/password/", form).status_code == 303
    # The login that changed it is still valid, and decides.
    decided = post(reviewer, f"/approvals/{row.id}/decide/", verdict)
    assert decided.status_code == 200, decided.content
    assert verify_workspace(cast.workspace).intact


def test_a_second_admin_whose_password_was_set_confirms_nothing(cast: Cast, second: Any) -> None:
    post(cast.client("admin"), f"/users/{cast.users['viewer'].pk}/", {"roles": ["reviewer"]})
    [row] = waiting(second)
    who = administrator_of(cast.users["admin"])
    administration.set_password(who, cast.users["second_admin"].pk, "x7" * 8)
    problem = refused(
        post(sign_in("second_admin", "x7" * 8), f"/access-changes/{row['id']}/confirm/", {}), 403
    )
    assert problem["type"].endswith(":own-password")


def test_a_renewed_hash_keeps_the_mark(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["dashboard.identity.passwords.BoundedHasher"]
    assert is_given(given_hash("x7" * 8))
    assert not is_given(make_password("x7" * 8))
    assert not is_given(given_hash(None))


@pytest.mark.parametrize(
    ("path", "body", "gives"),
    [
        ("/users/{}/second-factor/remove/", {}, "no second factor"),
        (
            "/users/{}/link/",
            {"subject": "s1", "issuer": "https://login.example.com"},
            "another login at the provider",
        ),
    ],
)
def test_other_ways_into_the_account_of_a_reviewer_wait(
    cast: Cast, second: Any, path: str, body: dict[str, Any], gives: str
) -> None:
    manager = cast.users["manager"]
    records.add(manager, codes.new_secret(), 1, actor=f"user:{manager.pk}")
    answer = post(cast.client("admin"), path.format(manager.pk), body)
    assert answer.status_code == 202, answer.content
    assert [row["gives"] for row in waiting(second)] == [[gives]]
    assert records.has_factor(manager.pk)
    assert identities.user_of("https://login.example.com", "s1") is None
