"""Users, roles and workspaces are edited at the records, and every change is an event."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils.html import format_html

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from checkpoints.models import Membership, Workspace
from dashboard.errors import Conflict, Forbidden, Invalid, Missing
from dashboard.html.templatetags.links import notice
from dashboard.identity import tokens
from dashboard.identity.administrator import administrator_of
from dashboard.models import Token
from dashboard.people.accounts import administration
from tests.support.cast import Cast
from tests.unit.dashboard.access import confirm_waiting

pytestmark = pytest.mark.django_db
SECRET = "correct horse 9"


def events(workspace: UUID) -> list[tuple[str, str, dict[str, Any]]]:
    """(kind, actor, data), oldest first."""
    return [
        (row.kind, row.actor, row.data)
        for row in reversed(queries.workspace_events(workspace, limit=500).rows)
    ]


def user(name: str) -> Any:
    return get_user_model().objects.get(username=name)


def roles(name: str, workspace: UUID) -> set[str]:
    memberships = queries.memberships(user(name).pk)
    return {role for one, _, role in memberships if one == workspace}


@pytest.fixture
def admin(cast: Cast) -> Client:
    return cast.client("admin")  # type: ignore[no-any-return]


@pytest.fixture
def root(cast: Cast) -> Client:
    client = Client()
    made = get_user_model().objects.create_superuser("root", password=SECRET)
    client.force_login(made, "dashboard.identity.backends.Passwords")
    return client


def new_user(client: Client, name: str, *value: str) -> Any:
    return client.post(
        "/admin/auth/user/add/",
        {
            "username": name,
            "usable_password": "true",
            "password1": SECRET,
            "password2": SECRET,
            "roles": list(value),
        },
    )


def change(client: Client, name: str, **values: Any) -> Any:
    """Post the whole form of a user, changed in these values."""
    row = user(name)
    form = {
        "username": row.username,
        "first_name": row.first_name,
        "last_name": row.last_name,
        "email": row.email,
        "roles": sorted(
            role
            for workspace_id, _, role in queries.memberships(row.pk)
            if workspace_id == queries.default_workspace()
        ),
        **({"is_active": "on"} if row.is_active else {}),
        **values,
    }
    value = {k: v for k, v in form.items() if v is not None}
    return client.post(f"/admin/auth/user/{row.pk}/change/", value, follow=True)


def test_making_a_user_with_roles(cast: Cast, admin: Client) -> None:
    answer = new_user(admin, "ada", "operator", "reviewer")
    assert (answer.status_code, answer["Location"]) == (303, "/access/")
    assert not get_user_model().objects.filter(username="ada").exists()
    assert confirm_waiting(cast) == 1
    assert roles("ada", cast.workspace) == {"operator", "reviewer"}
    ada = user("ada")
    assert ada.check_password(SECRET)
    assert (ada.is_staff, ada.is_superuser, ada.is_active) == (False, False, True)
    who, by = {"user": ada.pk, "name": "ada"}, f"user:{cast.users['admin'].pk}"
    assert events(cast.workspace)[-5:-1] == [
        ("user.created", by, {**who, "changed": {}}),
        ("member.added", by, who),
        ("role.granted", by, {**who, "role": "operator"}),
        ("role.granted", by, {**who, "role": "reviewer"}),
    ]
    assert new_user(admin, "ada").status_code == 200  # the name is taken: the form says so
    assert verify_workspace(cast.workspace).intact


def test_changing_a_user_tells_names_of_fields_and_only_harmless_values(
    cast: Cast, admin: Client
) -> None:
    before = len(events(cast.workspace))
    answer = change(admin, "viewer", first_name="Vera", email="v@example.org", username="vera")
    assert answer.status_code == 200
    assert user("vera").email == "v@example.org"
    [(kind, _, data)] = events(cast.workspace)[before:]
    assert kind == "user.changed"
    assert data["changed"] == {
        "username": ["viewer", "vera"],
        "first_name": None,
        "email": None,
    }
    change(admin, "vera")
    assert len(events(cast.workspace)) == before + 1  # nothing changed, nothing logged


def test_roles_change_with_the_user_and_are_events(cast: Cast, admin: Client) -> None:
    change(admin, "operator", roles=["reviewer", "auditor"])
    assert roles("operator", cast.workspace) == {"operator"}
    assert confirm_waiting(cast) == 1
    assert roles("operator", cast.workspace) == {"reviewer", "auditor"}
    assert [kind for kind, _, _ in events(cast.workspace)[-4:]] == [
        "role.granted",
        "role.granted",
        "role.withdrawn",
        "access.confirmed",
    ]
    # Rights are rows: the next request counts.
    assert cast.client("operator").get("/admin/").status_code == 200
    assert verify_workspace(cast.workspace).intact


def test_disabling_ends_the_login_and_is_its_own_kind(cast: Cast, admin: Client) -> None:
    theirs = cast.client("operator")
    assert theirs.get("/").status_code == 200
    change(admin, "operator", is_active=None)
    assert not user("operator").is_active
    assert theirs.get("/").status_code == 302
    kind, _, data = events(cast.workspace)[-1]
    assert (kind, data["changed"]) == ("user.disabled", {"is_active": [True, False]})


def test_nobody_locks_the_workspace_or_themselves_out(cast: Cast, admin: Client) -> None:
    before = events(cast.workspace)
    answer = change(admin, "admin", is_active=None)
    assert "You cannot disable your own login; ask another admin." in answer.content.decode()
    answer = change(admin, "admin", roles=["viewer"])
    assert "You cannot withdraw your own admin role; ask another admin." in answer.content.decode()
    row = Membership.objects.get(user=cast.users["admin"])
    answer = admin.post(
        f"/admin/checkpoints/membership/{row.pk}/delete/", {"post": "yes"}, follow=True
    )
    assert "You cannot withdraw your own admin role" in answer.content.decode()
    assert events(cast.workspace) == before
    assert user("admin").is_active
    assert roles("admin", cast.workspace) == {"admin"}


def test_a_superuser_leaves_one_admin_in_each_workspace(cast: Cast, root: Client) -> None:
    row = Membership.objects.get(user=cast.users["admin"])
    delete = f"/admin/checkpoints/membership/{row.pk}/delete/"
    answer = root.post(delete, {"post": "yes"}, follow=True)
    assert "This is the last admin of the workspace" in answer.content.decode()
    answer = change(root, "admin", is_active=None)
    assert "This is the last admin of the workspace" in answer.content.decode()
    store.grant(cast.workspace, cast.users["nobody"].pk, "admin", actor="user:0")
    root.post(delete, {"post": "yes"}, follow=True)
    assert roles("admin", cast.workspace) == set()


def test_passwords_are_set_and_never_told(cast: Cast, admin: Client) -> None:
    theirs = cast.client("viewer")
    path = f"/admin/auth/user/{cast.users['viewer'].pk}/password/"
    page = admin.get(path)
    assert page.status_code == 200
    answer = admin.post(path, {"usable_password": "true", "password1": SECRET, "password2": SECRET})
    assert answer.status_code == 302
    assert user("viewer").check_password(SECRET)
    assert theirs.get("/").status_code == 302  # their old logins are over
    kind, _, data = events(cast.workspace)[-1]
    assert (kind, data["changed"]) == ("user.changed", {"password": None})
    admin.post(path, {"usable_password": "false", "unset-password": "1"})
    assert not user("viewer").has_usable_password()
    payload = str(events(cast.workspace))
    assert SECRET not in payload
    assert user("viewer").password not in payload
    assert "md5" not in payload


def test_a_membership_has_a_name_and_a_hash_is_shown_nowhere(cast: Cast, admin: Client) -> None:
    viewer = user("viewer")
    row = Membership.objects.get(user=viewer)
    for address in ("change", "delete"):
        html = admin.get(f"/admin/checkpoints/membership/{row.pk}/{address}/").content.decode()
        assert f"viewer, viewer in {row.workspace.name}" in html
        assert "object (" not in html
    path = f"/admin/auth/user/{viewer.pk}/change/"
    html = admin.get(path).content.decode()
    assert "A password is set." in html
    assert 'href="../password/"' in html
    parts = viewer.password.split("$")
    assert len(parts) > 2
    assert not [part for part in parts if part in html or f"{part[:6]}*" in html]
    viewer.set_unusable_password()
    viewer.save(update_fields=["password"])
    assert "No password set." in admin.get(path).content.decode()


def test_ones_own_password_is_an_event_too(cast: Cast) -> None:
    client = cast.client("auditor")
    answer = client.post(
        "/admin/password_change/",
        {
            "old_password": "auditor-password",
            "new_password1": SECRET,
            "new_password2": SECRET,
        },
    )
    assert answer.status_code == 302
    assert client.get("/admin/").status_code == 200  # still signed in
    assert user("auditor").check_password(SECRET)
    kind, by, data = events(cast.workspace)[-1]
    assert (kind, by) == ("user.changed", f"user:{user('auditor').pk}")
    assert data["changed"] == {"password": None}


def test_roles_are_given_and_taken_as_rows(cast: Cast, admin: Client) -> None:
    viewer = cast.users["viewer"].pk
    path = "/admin/checkpoints/membership/"
    assert admin.post(f"{path}add/", {"user": viewer, "role": "operator"}).status_code == 302
    assert roles("viewer", cast.workspace) == {"viewer", "operator"}
    again = admin.post(f"{path}add/", {"user": viewer, "role": "operator"}, follow=True)
    assert "They have this role already." in again.content.decode()
    row = Membership.objects.get(user=viewer, role="operator")
    assert admin.get(f"{path}{row.pk}/change/").status_code == 200
    assert admin.post(f"{path}{row.pk}/change/", {"role": "admin"}).status_code == 403
    admin.post(f"{path}{row.pk}/delete/", {"post": "yes"})
    assert roles("viewer", cast.workspace) == {"viewer"}
    assert [kind for kind, _, _ in events(cast.workspace)[-2:]] == [
        "role.granted",
        "role.withdrawn",
    ]


def test_admins_look_after_no_people_of_others(cast: Cast, admin: Client, root: Client) -> None:
    stranger, before = cast.users["stranger"], events(cast.elsewhere)
    page = admin.get("/admin/auth/user/").content.decode()
    assert "manager" in page
    assert "stranger" not in page
    assert "root" not in page
    for path in (f"/admin/auth/user/{stranger.pk}/change/", "/admin/auth/user/9999999/change/"):
        assert admin.get(path).status_code == 404
        assert admin.post(path, {}).status_code == 404
    assert admin.get(f"/admin/auth/user/{stranger.pk}/password/").status_code == 404
    row = Membership.objects.filter(user=stranger).first()
    assert row is not None
    assert admin.post(f"/admin/checkpoints/membership/{row.pk}/delete/").status_code == 404
    form = {"user": stranger.pk, "role": "viewer"}
    assert admin.post("/admin/checkpoints/membership/add/", form).status_code == 200
    assert roles("stranger", cast.workspace) == set()
    assert events(cast.elsewhere) == before
    # One who belongs to both: roles here, yes; the login, no.
    store.grant(cast.workspace, stranger.pk, "viewer", actor="user:0")
    answer = admin.post(
        f"/admin/auth/user/{stranger.pk}/password/",
        {"usable_password": "true", "password1": SECRET, "password2": SECRET},
    )
    assert answer.status_code == 403
    assert "only a superuser may change the login" in answer.content.decode()
    assert user("stranger").check_password("stranger-password")


def test_only_superusers_make_superusers_and_workspaces(
    cast: Cast, admin: Client, root: Client
) -> None:
    change(admin, "viewer", is_superuser="on")
    assert not user("viewer").is_superuser
    assert admin.get("/admin/checkpoints/workspace/add/").status_code == 403
    change(root, "viewer", is_superuser="on")
    assert not user("viewer").is_superuser
    assert confirm_waiting(cast) == 1
    assert user("viewer").is_superuser
    kind, _, data = events(cast.workspace)[-2]
    assert (kind, data["changed"]) == ("user.changed", {"is_superuser": [False, True]})
    assert root.post("/admin/checkpoints/workspace/add/", {"name": "third"}).status_code == 302
    third = Workspace.objects.get(name="third")
    assert [kind for kind, _, _ in events(third.pk)] == ["workspace.created"]
    taken = root.post("/admin/checkpoints/workspace/add/", {"name": "third"})
    assert taken.status_code == 200
    form = {"user": cast.users["viewer"].pk, "role": "viewer", "workspace": str(third.pk)}
    assert root.post("/admin/checkpoints/membership/add/", form).status_code == 302
    assert roles("viewer", third.pk) == {"viewer"}


def test_a_workspace_is_renamed_by_its_admins(cast: Cast, admin: Client) -> None:
    path = f"/admin/checkpoints/workspace/{cast.workspace}/change/"
    assert admin.post(path, {"name": "the lab"}).status_code == 302
    assert events(cast.workspace)[-1][2] == {"from": "default", "to": "the lab"}
    taken = admin.post(path, {"name": "elsewhere"})
    assert taken.status_code == 200
    assert cast.client("auditor").post(path, {"name": "x"}).status_code == 403
    other = f"/admin/checkpoints/workspace/{cast.elsewhere}/change/"
    assert admin.post(other, {"name": "mine"}).status_code == 404
    assert verify_workspace(cast.workspace).intact


@pytest.mark.parametrize("who", ["auditor", "viewer", "operator", "manager"])
def test_others_change_nothing(cast: Cast, who: str) -> None:
    client, before = cast.client(who), events(cast.workspace)
    victim = cast.users["viewer"].pk
    for path, form in (
        ("auth/user/add/", {"username": "x"}),
        (f"auth/user/{victim}/change/", {"username": "x"}),
        (f"auth/user/{victim}/password/", {"password1": SECRET}),
        ("checkpoints/membership/add/", {"user": victim, "role": "admin"}),
    ):
        assert client.post(f"/admin/{path}", form).status_code == 403, path
    assert events(cast.workspace) == before


def test_users_are_never_deleted(cast: Cast, root: Client) -> None:
    path = f"/admin/auth/user/{cast.users['viewer'].pk}/delete/"
    for answer in (root.get(path), root.post(path, {"post": "yes"})):
        assert answer.status_code == 403
        assert "not deleted, since the logs refer to them" in answer.content.decode()
    assert user("viewer").is_active
    assert root.get("/admin/auth/group/").status_code == 404


def test_the_entry_below_the_forms_checks_by_itself(cast: Cast) -> None:
    who = administrator_of(cast.users["admin"])
    viewer, stranger = cast.users["viewer"].pk, cast.users["stranger"].pk
    auditor = administrator_of(cast.users["auditor"])
    for attempt, error in (
        (lambda: administration.grant_role(auditor, viewer, "admin", workspace=None), Forbidden),
        (lambda: administration.grant_role(who, stranger, "viewer", workspace=None), Missing),
        (
            lambda: administration.grant_role(who, viewer, "admin", workspace=cast.elsewhere),
            Missing,
        ),
        (lambda: administration.grant_role(who, viewer, "emperor", workspace=None), Invalid),
        (lambda: administration.grant_role(who, viewer, "viewer", workspace=None), Conflict),
        (lambda: administration.set_roles(who, viewer, ["emperor"]), Invalid),
        (lambda: administration.set_password(auditor, viewer, SECRET), Forbidden),
        (lambda: administration.change_user(who, viewer, {"username": "manager"}), Invalid),
        (lambda: administration.change_user(who, viewer, {"is_superuser": True}), Forbidden),
        (lambda: administration.create_user(who, "manager", password=None), Invalid),
        (lambda: administration.create_user(auditor, "x", password=None), Forbidden),
        (lambda: administration.create_workspace(who, "x"), Forbidden),
        (lambda: administration.rename_workspace(who, cast.elsewhere, "x"), Missing),
    ):
        before = events(cast.workspace), events(cast.elsewhere)
        with pytest.raises(error):
            attempt()
        assert (events(cast.workspace), events(cast.elsewhere)) == before
    assert user("viewer").check_password("viewer-password")


def test_the_log_is_read_where_everything_is(cast: Cast, admin: Client) -> None:
    new_user(admin, "ada", "operator")
    client = cast.client("auditor")
    page = client.get("/admin/checkpoints/workspaceevent/").content.decode()
    assert "admin gave ada the role operator" in page
    assert "admin made the user ada" in page
    page = client.get("/admin/checkpoints/workspaceevent/?kind=user").content.decode()
    assert "made the user ada" in page
    assert "the role operator" not in page
    page = client.get("/admin/checkpoints/workspaceevent/?q=admin").content.decode()
    assert "admin gave ada the role operator" in page
    assert client.get("/admin/auth/user/1/history/").status_code in (302, 403, 404)


def test_a_token_is_revoked_by_an_admin_of_its_workspace(cast: Cast, admin: Client) -> None:
    mine, whole = tokens.make(cast.users["operator"], made_by="user:1", name="ci")
    other, _ = tokens.make(cast.users["stranger"], made_by="user:1")
    ids = dict(Token.objects.values_list("prefix", "pk"))
    page = f"/admin/dashboard/token/{ids[mine.prefix]}/"
    shown = admin.get(f"{page}change/").content.decode()
    assert f"{page}revoke/" in shown
    assert "operator" in shown
    assert "secret" not in shown
    assert whole.split("_", 2)[2] not in shown
    auditor = cast.client("auditor")
    assert f"{page}revoke/" not in auditor.get(f"{page}change/").content.decode()
    assert auditor.post(f"{page}revoke/").status_code == 403
    assert admin.get(f"{page}revoke/").status_code == 403
    assert admin.post(f"/admin/dashboard/token/{ids[other.prefix]}/revoke/").status_code == 404
    assert tokens.listed(prefix=mine.prefix)[0].state == "active"
    done = admin.post(f"{page}revoke/", follow=True)
    assert f"The token {mine.prefix} is revoked." in done.content.decode()
    assert f"{page}revoke/" not in done.content.decode()
    assert tokens.listed(prefix=mine.prefix)[0].state == "revoked"
    kind, by, _ = events(cast.workspace)[-1]
    assert (kind, by) == ("token.revoked", f"user:{cast.users['admin'].pk}")


def test_messages_show_links_and_no_source_of_html(cast: Cast) -> None:
    client = cast.client("admin")
    answer = new_user(client, "ada", "viewer")
    page = client.get(answer["Location"]).content.decode()
    [message] = re.findall(r'<ul class="messagelist">\s*<li[^>]*>(.*?)</li>', page, re.S)
    assert re.search(r'<a href="/admin/auth/user/\d+/change/">ada</a>', message)
    assert "&lt;a" not in message


def test_a_message_that_hides_characters_writes_them_out() -> None:
    payload = notice(format_html('The user <a href="/x/">{}</a>', "a\u202eb<i>"))
    assert payload == 'The user <a href="/x/">a[U+202E]b&lt;i&gt;</a>'
    assert "&lt;b&gt;" in notice("<b>")


def test_every_list_has_the_same_search(cast: Cast) -> None:
    client = cast.client("admin")
    form = re.compile(r'<form id="changelist-search".*?</form>', re.S)
    own = re.compile(r'(aria-label|aria-describedby|value)="[^"]*"|<p class="help".*?</p>|\s+')
    results = set()
    for name in ("auth/user", "checkpoints/thread", "dashboard/token"):
        results |= {
            own.sub("", one) for one in form.findall(client.get(f"/admin/{name}/").content.decode())
        }
    assert len(results) == 1


def test_an_admin_does_not_make_themself_a_reviewer(cast: Cast) -> None:
    """Whoever makes the rules is not who approves: another admin has to give the role."""
    alone, other = (administrator_of(cast.users[name]) for name in ("admin", "second_manager"))
    own = alone.actor.user_id
    assert not other.may_administer
    before = list(queries.workspace_events(cast.workspace).rows)
    for act in (
        lambda: administration.grant_role(alone, own, "reviewer", workspace=None),
        lambda: administration.set_roles(alone, own, ["admin", "reviewer"]),
        lambda: administration.set_roles(alone, own, ["reviewer"]),
    ):
        with pytest.raises(Forbidden, match="another admin"):
            act()
    assert list(queries.workspace_events(cast.workspace).rows) == before
    assert roles("admin", cast.workspace) == {"admin"}

    cast.users["admin"].is_superuser = True
    cast.users["admin"].save()
    root = administrator_of(cast.users["admin"])
    with pytest.raises(Forbidden):
        administration.grant_role(root, own, "reviewer", workspace=cast.workspace)
    with pytest.raises(Forbidden):
        administration.grant_role(root, own, "reviewer", workspace=cast.elsewhere)
    cast.users["admin"].is_superuser = False
    cast.users["admin"].save()

    store.grant(cast.workspace, cast.users["manager"].pk, "admin", actor="user:0")
    second = administrator_of(cast.users["manager"])
    administration.set_roles(second, own, ["admin", "reviewer"])
    # What somebody has already may be kept beside other changes.
    administration.set_roles(alone, own, ["admin", "reviewer", "viewer"])
    assert roles("admin", cast.workspace) == {"admin", "reviewer", "viewer"}


def test_the_try_to_make_oneself_a_reviewer_is_an_event_once(cast: Cast, admin: Client) -> None:
    own = user("admin").pk
    body = {"roles": ["admin", "reviewer"]}
    keyed = {"HTTP_IDEMPOTENCY_KEY": "one"}
    member = {"workspace": str(cast.workspace), "user": own, "role": "reviewer"}
    tries: list[Callable[[], Any]] = [
        lambda: change(admin, "admin", roles=body["roles"]),
        lambda: admin.post("/admin/checkpoints/membership/add/", member),
        lambda: admin.post(f"/api/v1/users/{own}/", body, content_type="application/json"),
        lambda: admin.post(f"/api/v1/users/{own}/", body, content_type="application/json", **keyed),
    ]
    by = f"user:{own}"
    for act in tries:
        before = events(cast.workspace)
        answer = act()
        assert answer.status_code == 403, answer.content[:300]
        payload = {"user": own, "name": "admin", "role": "reviewer"}
        assert events(cast.workspace)[len(before) :] == [("role.refused", by, payload)]
    assert roles("admin", cast.workspace) == {"admin"}
    assert verify_workspace(cast.workspace).intact
