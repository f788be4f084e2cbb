"""A directory keeps people and groups by SCIM 2.0; who leaves it is out at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from checkpoints import queries
from checkpoints.chain import verify_workspace
from dashboard.configuration.sign_in import Access
from dashboard.identity import tokens
from dashboard.people.accounts.accounts import change_account
from dashboard.people.sso import identities
from dashboard.wire import hints
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
V2 = "/scim/v2"
GROUPS = {
    "ops": (Access("default", ("operator",), ("payments",)),),
    "leads": (Access("default", ("reviewer",), ()), Access("elsewhere", ("auditor",), ())),
}
PATCH = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]}


class Directory:
    """The client of a directory with its token."""

    def __init__(self, token: str) -> None:
        self.http = Client(headers={"Authorization": f"Bearer {token}"})

    def call(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        raw = "" if body is None else json.dumps(body)
        answer = self.http.generic(method, V2 + path, raw, content_type="application/scim+json")
        assert answer.status_code == status, answer.content
        if status == 204:
            return None
        assert answer.headers["Content-Type"].startswith("application/scim+json")
        return json.loads(answer.content)

    def get(self, path: str, **values: Any) -> Any:
        return self.call("GET", path, **values)

    def add(self, username: str, **values: Any) -> dict[str, Any]:
        body = {"userName": username, "externalId": f"00u-{username}", "active": True} | values
        made: dict[str, Any] = self.call("POST", "/Users", body, status=201)
        return made

    def group(self, name: str, *members: dict[str, Any]) -> dict[str, Any]:
        body = {"displayName": name, "members": [{"value": one["id"]} for one in members]}
        made: dict[str, Any] = self.call("POST", "/Groups", body, status=201)
        return made

    def patch(self, path: str, *operations: dict[str, Any], status: int = 200) -> Any:
        return self.call("PATCH", path, PATCH | {"Operations": list(operations)}, status=status)


@pytest.fixture
def directory(cast: Cast, settings: Any) -> Directory:
    settings.GATEPOST_GROUPS = GROUPS
    admin = cast.users["admin"]
    change_account(admin, {"is_superuser": True}, actor="user:0", workspace=cast.workspace)
    return Directory(tokens.make(admin, made_by="user:0", scopes=["scim"])[1])


def account(made: dict[str, Any]) -> Any:
    return get_user_model().objects.get(pk=made["id"])


def roles(made: dict[str, Any]) -> set[tuple[str, str]]:
    return {(workspace, role) for _, workspace, role in queries.memberships(int(made["id"]))}


def sound(cast: Cast) -> bool:
    reports = map(verify_workspace, (cast.workspace, cast.elsewhere))
    return [report.what for report in reports if not report.intact] == []


def test_people_come_with_their_values_and_without_a_role(cast: Cast, directory: Directory) -> None:
    made = directory.add(
        "ada@example.com",
        name={"givenName": "Ada", "familyName": "Lovelace"},
        emails=[{"value": "b@example.com"}, {"value": "ada@example.com", "primary": True}],
        title="Countess",
    )
    user = account(made)
    assert (user.username, user.email, user.first_name) == (
        *("ada@example.com", "ada@example.com", "Ada"),
    )
    assert not user.has_usable_password()
    assert roles(made) == set()
    assert made["externalId"] == "00u-ada@example.com"
    assert made["meta"]["location"].endswith(f"/scim/v2/Users/{made['id']}")
    assert directory.get(f"/Users/{made['id']}") == made
    for text in ('userName eq "ada@example.com"', 'externalId EQ "00u-ada@example.com"'):
        page = directory.get(f"/Users?filter={text}")
        assert (page["totalResults"], page["Resources"][0]["id"]) == (1, made["id"]), text
    assert directory.get('/Users?filter=userName eq "bob"')["Resources"] == []
    assert sound(cast)


def test_groups_open_roles_at_once_and_close_them(cast: Cast, directory: Directory) -> None:
    ada, bob = directory.add("ada"), directory.add("bob")
    ops = directory.group("ops", ada)
    assert roles(ada) == {("default", "operator")}
    assert {one.name for one in account(ada).groups.all()} == {"ops", "payments"}
    path = f"/Groups/{ops['id']}"
    directory.patch(path, {"op": "add", "path": "members", "value": [{"value": bob["id"]}]})
    assert roles(bob) == {("default", "operator")}
    directory.patch(path, {"op": "Remove", "path": f'members[value eq "{ada["id"]}"]'})
    assert (roles(ada), roles(bob)) == (set(), {("default", "operator")})
    assert not account(ada).groups.exists()
    assert [one["display"] for one in directory.get(path)["members"]] == ["bob"]
    assert "members" not in directory.get(f"{path}?excludedAttributes=members")
    directory.patch(path, {"op": "replace", "value": {"displayName": "leads"}})
    assert roles(bob) == {("default", "reviewer"), ("elsewhere", "auditor")}
    directory.call("PUT", path, {"displayName": "leads", "members": [{"value": ada["id"]}]})
    assert (bool(roles(ada)), bool(roles(bob))) == (True, False)
    directory.call("DELETE", path, status=204)
    assert roles(ada) == set()
    assert sound(cast)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "active", "value": False},
        {"op": "Replace", "path": "active", "value": "False"},
        {"op": "replace", "value": {"active": False}},
    ],
)
def test_a_leaver_is_out_at_once_for_good(
    cast: Cast, directory: Directory, operation: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[str] = []
    monkeypatch.setattr(hints, "publish", lambda *texts: published.extend(texts))
    ada = directory.add("ada")
    directory.group("ops", ada)
    browser = Client()
    browser.force_login(account(ada), "dashboard.identity.backends.Links")
    _, token = tokens.make(account(ada), made_by="test", scopes=["read"])
    script = Client(headers={"Authorization": f"Bearer {token}"})
    assert browser.get("/").status_code == script.get("/api/v1/threads/").status_code == 200
    published.clear()
    assert directory.patch(f"/Users/{ada['id']}", operation)["active"] is False
    assert '{"out":[]}' in published
    assert browser.get("/").status_code == 302
    assert script.get("/api/v1/threads/").status_code == 401
    back = {"op": "replace", "path": "active", "value": True}
    assert directory.patch(f"/Users/{ada['id']}", back)["active"] is True
    # Coming back opens neither the old login nor the old token.
    assert browser.get("/").status_code == 302
    assert script.get("/api/v1/threads/").status_code == 401
    assert roles(ada) == {("default", "operator")}
    assert sound(cast)


def test_who_is_removed_keeps_an_account_that_opens_nothing(
    cast: Cast, directory: Directory
) -> None:
    ada = directory.add("ada")
    directory.group("leads", ada)
    directory.call("DELETE", f"/Users/{ada['id']}", status=204)
    user = account(ada)
    assert (user.is_active, roles(ada), user.groups.count()) == (False, set(), 0)
    refused = directory.get(f"/Users/{ada['id']}", status=404)
    assert refused["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert refused["status"] == "404"
    assert directory.get("/Users")["totalResults"] == 0
    assert sound(cast)


def test_values_are_replaced_and_patched(directory: Directory) -> None:
    ada = directory.add("ada", name={"givenName": "Ada"})
    path = f"/Users/{ada['id']}"
    changed = directory.patch(
        path,
        {"op": "replace", "path": "name.familyName", "value": "King"},
        {"op": "add", "path": 'emails[type eq "work"].value', "value": "ada@example.com"},
        {"op": "replace", "path": "userName", "value": "ada.king"},
        {"op": "replace", "path": "title", "value": "Countess"},
    )
    assert (changed["userName"], changed["name"]["formatted"]) == ("ada.king", "Ada King")
    assert changed["emails"][0]["value"] == "ada@example.com"
    whole = {"userName": "ada", "name": {"givenName": "Augusta"}}
    replaced = directory.call("PUT", path, whole)
    assert (replaced["name"]["formatted"], replaced["active"]) == ("Augusta", True)
    assert "emails" not in replaced
    assert "externalId" not in replaced


def test_accounts_made_here_are_out_of_reach(cast: Cast, directory: Directory) -> None:
    body = {"userName": "operator"}
    taken = directory.call("POST", "/Users", body, status=409)
    assert taken["scimType"] == "uniqueness"
    ident = cast.users["operator"].pk
    assert directory.get("/Users")["totalResults"] == 0
    directory.patch(
        f"/Users/{ident}", {"op": "replace", "path": "active", "value": False}, status=404
    )
    refused = {"displayName": "ops", "members": [{"value": str(ident)}]}
    assert directory.call("POST", "/Groups", refused, status=400)["scimType"] == "invalidValue"
    # A superuser stays out of reach even where somebody linked the account.
    identities.link(cast.users["admin"], identities.SCIM, "x", actor="user:0")
    directory.get(f"/Users/{cast.users['admin'].pk}", status=404)
    identities.link(cast.users["operator"], identities.SCIM, "00u9", actor="user:0")
    assert directory.get(f"/Users/{ident}")["externalId"] == "00u9"
    assert roles({"id": ident}) == {("default", "operator")}


def test_teams_that_the_mapping_gives_are_no_groups(directory: Directory) -> None:
    ada = directory.add("ada")
    directory.group("ops", ada)
    assert Group.objects.filter(name="payments").exists()
    assert [one["displayName"] for one in directory.get("/Groups")["Resources"]] == ["ops"]
    refused = directory.call("POST", "/Groups", {"displayName": "payments"}, status=409)
    assert "GATEPOST_GROUPS gives the team" in refused["detail"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ('/Users?filter=userName co "a"', "invalidFilter"),
        ('/Users?filter=password eq "a"', "invalidFilter"),
        ("/Users?filter=userName eq ada", "invalidFilter"),
        ("/Users?startIndex=x", "invalidValue"),
    ],
)
def test_what_is_not_understood_is_refused(directory: Directory, path: str, kind: str) -> None:
    assert directory.get(path, status=400)["scimType"] == kind


@pytest.mark.parametrize(
    ("operations", "kind"),
    [
        ([], "invalidValue"),
        (["x"], "invalidValue"),
        ([{"op": "set", "path": "active", "value": False}], "invalidValue"),
        ([{"op": "replace", "path": "active", "value": "no"}], "invalidValue"),
        ([{"op": "replace", "path": "a b", "value": "no"}], "invalidPath"),
        ([{"op": "replace", "path": "userName", "value": ""}], "invalidValue"),
        ([{"op": "replace", "path": "userName", "value": "a" * 151}], "invalidValue"),
        ([{"op": "replace", "path": "userName", "value": 7}], "invalidValue"),
        ([{"op": "remove"}], "invalidValue"),
    ],
)
def test_operations_that_are_wrong_change_nothing(
    directory: Directory, operations: list[Any], kind: str
) -> None:
    ada = directory.add("ada")
    refused = directory.patch(f"/Users/{ada['id']}", *operations, status=400)
    assert refused["scimType"] == kind
    assert directory.get(f"/Users/{ada['id']}") == ada


def test_lists_come_in_pages(directory: Directory) -> None:
    for name in "abcde":
        directory.add(name)
    page = directory.get("/Users?startIndex=2&count=2")
    assert [one["userName"] for one in page["Resources"]] == ["b", "c"]
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (5, 2, 2)
    assert directory.get("/Users?count=0")["Resources"] == []


def test_a_directory_asks_first_what_there_is(directory: Directory) -> None:
    assert directory.get("/ServiceProviderConfig")["patch"] == {"supported": True}
    assert [one["id"] for one in directory.get("/ResourceTypes")["Resources"]] == ["User", "Group"]
    names = {one["name"] for one in directory.get("/Schemas")["Resources"]}
    assert names == {"User", "Group"}
    directory.get("/Nothing", status=404)


def test_only_a_superusers_token_of_this_scope_comes_in(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_GROUPS = GROUPS
    anybody = Client().get(f"{V2}/Users")
    assert anybody.status_code == 401
    assert cast.client("admin").get(f"{V2}/Users").status_code == 401  # a login opens nothing
    _, plain = tokens.make(cast.users["admin"], made_by="test", scopes=["scim"])
    Directory(plain).get("/Users", status=403)
    cast.users["admin"].is_superuser = True
    cast.users["admin"].save()
    _, other = tokens.make(cast.users["admin"], made_by="test", scopes=["administer", "read"])
    Directory(other).get("/Users", status=403)
    _, scim = tokens.make(cast.users["admin"], made_by="test", scopes=["scim"])
    assert Directory(scim).get("/Users")["totalResults"] == 0
    script = Client(headers={"Authorization": f"Bearer {scim}"})
    assert script.get("/api/v1/threads/").status_code == 403  # and this token nothing else
    assert script.get("/api/v1/users/").status_code == 403
