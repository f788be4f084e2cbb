"""Dialects of Okta and Microsoft Entra, and what no directory should send: never a 500."""

from __future__ import annotations

import json
from itertools import islice, product
from typing import Any
from urllib.parse import quote

import pytest

from checkpoints import store
from dashboard.configuration.sign_in import Access
from tests.support.cast import Cast
from tests.unit.dashboard.people.scim.test_scim import (
    V2,
    Directory,
    account,
    directory,
    roles,
    sound,
)

pytestmark = pytest.mark.django_db
__all__ = ("directory",)
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
COMPOSED, DECOMPOSED = "jos\u00e9", "jose\u0301"

# Values that break what is careless about types, sizes and characters.
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 7.5, "", " ", "x", "a\nb", "\ufdfa" * 20, "a" * 300, DECOMPOSED),
    *(
        [],
        ["x"],
        [{}],
        [None],
        [{"value": 7}],
        [{"value": "\u0663"}],
        {},
        {"value": "x"},
        {"a": {}},
    ),
)
PATHS = (
    *("userName", "active", "externalId", "emails", 'emails[type eq "work"].value'),
    *('emails[type eq "home"]', "name", "name.givenName", "members", "displayName"),
    *(f"{ENTERPRISE}:manager", 'members[value eq "\\ud800"]', "members[value eq 7]", "a[b", ""),
)


def answer(directory: Directory, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """(status, JSON) of a call that must be done or refused as SCIM refuses."""
    directory.http.raise_request_exception = False
    raw = "" if body is None else json.dumps(body)
    got = directory.http.generic(method, V2 + path, raw, content_type="application/scim+json")
    shown: Any = json.loads(got.content) if got.content else None
    assert got.status_code < 500, (method, path, body, shown)
    if got.status_code >= 400:
        assert shown["schemas"] == [ERROR], (method, path, body, shown)
        assert shown["status"] == str(got.status_code)
    return got.status_code, shown


@pytest.mark.slow
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_odd_values_are_done_or_refused_and_never_fail(
    cast: Cast, directory: Directory, every: int
) -> None:
    ada = directory.add("ada")
    group = directory.group("ops", ada)
    operations = product(("Add", "replace", "REMOVE"), PATHS, ODD)
    for op, path, value in islice(operations, 0, None, every):
        operation = {"op": op, "path": path, "value": value}
        for target in (f"/Users/{ada['id']}", f"/Groups/{group['id']}"):
            before = directory.get(target)
            status, _ = answer(directory, "PATCH", target, {"Operations": [operation]})
            if status >= 400:
                assert directory.get(target) == before, operation
    for name, value in product(("userName", "externalId", "name", "emails", "active"), ODD):
        answer(directory, "POST", "/Users", {"userName": "eve", name: value})
        answer(directory, "PUT", f"/Users/{ada['id']}", {"userName": "ada", name: value})
    for name, value in product(("displayName", "members", "schemas"), ODD):
        answer(directory, "POST", "/Groups", {"displayName": "eves", name: value})
        answer(directory, "PUT", f"/Groups/{group['id']}", {"displayName": "ops", name: value})
    assert sound(cast)


def test_odd_queries_are_answered_or_refused(directory: Directory) -> None:
    values = ('"\\ud800"', '"\\u0000"', '"\u0663"', '""', "null", "7", '"' + "9" * 12 + '"')
    names = ("userName", "externalId", "id", "emails.value", "displayName", "nothing")
    for kind, name, value in product(("Users", "Groups"), names, values):
        answer(directory, "GET", f"/{kind}?filter=" + quote(f"{name} eq {value}"))
    numbers = ("0", "-1", "--5", "-", "5-", "1.5", "\u0663", "\0", "9" * 10, "9" * 11, "+1", " ")
    for kind, name, number in product(("Users", "Groups"), ("startIndex", "count"), numbers):
        answer(directory, "GET", f"/{kind}?{name}=" + quote(number))


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Treasury"},
        {"op": "Replace", "path": f"{ENTERPRISE}:manager.value", "value": "7"},
        {"op": "Add", "value": {ENTERPRISE: {"department": "Treasury"}}},
        {"op": "Add", "value": {f"{ENTERPRISE}:employeeNumber": "7"}},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "1"},
        {"op": "Add", "path": 'emails[type eq "home"].value', "value": "home@example.com"},
        {"op": "Remove", "path": 'emails[type eq "home"]'},
    ],
)
def test_attributes_that_are_not_kept_are_passed_over(
    directory: Directory, operation: dict[str, Any]
) -> None:
    ada = directory.add("ada", emails=[{"value": "ada@example.com", "type": "work"}])
    also = {"op": "Replace", "path": "name.givenName", "value": "Ada"}
    changed = directory.patch(f"/Users/{ada['id']}", operation, also)
    assert changed["name"]["givenName"] == "Ada"
    assert changed["emails"] == ada["emails"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "new@example.com"},
        {"op": "Replace", "path": 'emails[type eq "work"]', "value": {"value": "new@example.com"}},
        {"op": "Replace", "path": "emails[primary eq true].value", "value": "new@example.com"},
        {"op": "Replace", "value": {'emails[type eq "work"].value': "new@example.com"}},
        {"op": "Replace", "path": "emails", "value": {"value": "new@example.com"}},
    ],
)
def test_the_one_address_is_meant_in_several_ways(
    directory: Directory, operation: dict[str, Any]
) -> None:
    ada = directory.add("ada", emails=[{"value": "ada@example.com"}])
    changed = directory.patch(f"/Users/{ada['id']}", operation)
    assert [one["value"] for one in changed["emails"]] == ["new@example.com"]


def test_a_name_is_one_whatever_its_case_and_form(directory: Directory) -> None:
    """Two accounts of one person would be two votes, and a search that misses makes a second."""
    ada, jose = directory.add("Ada@Example.com"), directory.add(DECOMPOSED)
    assert account(jose).username == COMPOSED
    for name, made in (("ada@example.COM", ada), (DECOMPOSED, jose), (COMPOSED.upper(), jose)):
        page = directory.get("/Users?filter=" + quote(f'userName eq "{name}"'))
        assert [one["id"] for one in page["Resources"]] == [made["id"]], name
        refused = directory.call("POST", "/Users", {"userName": name}, status=409)
        assert refused["scimType"] == "uniqueness"
    bob = directory.add("bob")
    for name in ("ADA@example.com", DECOMPOSED):
        change = {"op": "replace", "path": "userName", "value": name}
        directory.patch(f"/Users/{bob['id']}", change, status=409)
    change = {"op": "replace", "path": "userName", "value": "zoe\u0308"}
    assert directory.patch(f"/Users/{bob['id']}", change)["userName"] == "zo\u00eb"
    change = {"op": "replace", "path": "userName", "value": "ADA@example.com"}
    assert directory.patch(f"/Users/{ada['id']}", change)["userName"] == "ADA@example.com"


def test_ids_of_the_directory_stay_apart(directory: Directory) -> None:
    ada, bob = directory.add("ada"), directory.add("bob")
    taken = {"op": "replace", "path": "externalId", "value": ada["externalId"]}
    renamed = {"op": "replace", "path": "userName", "value": "half"}
    refused = directory.patch(f"/Users/{bob['id']}", renamed, taken, status=409)
    assert refused["scimType"] == "uniqueness"
    assert directory.get(f"/Users/{bob['id']}") == bob
    ours = {"userName": "eve", "externalId": f"user:{ada['id']}"}
    directory.call("POST", "/Users", ours, status=400)


def test_groups_hold_people_only_and_an_empty_list_removes_nobody(directory: Directory) -> None:
    ada, bob = directory.add("ada"), directory.add("bob")
    path = f"/Groups/{directory.group('ops', ada)['id']}"
    nested = [{"value": bob["id"], "type": "Group"}]
    directory.patch(path, {"op": "Add", "path": "members", "value": nested}, status=400)
    directory.call("POST", "/Groups", {"displayName": "x", "members": nested}, status=400)
    directory.patch(path, {"op": "Remove", "path": "members", "value": []})
    assert (bool(roles(ada)), bool(roles(bob))) == (True, False)
    directory.patch(
        path, {"op": "Add", "path": "members", "value": [{"value": bob["id"], "type": "User"}]}
    )
    directory.patch(path, {"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]})
    assert (bool(roles(ada)), bool(roles(bob))) == (False, True)
    directory.patch(path, {"op": "Remove", "path": "members"})
    assert roles(bob) == set()


def test_the_last_admin_stays_whole_however_they_should_go(
    cast: Cast, directory: Directory, settings: Any
) -> None:
    settings.GATEPOST_GROUPS = {"owners": (Access("default", ("admin",), ()),)}
    ada = directory.add("ada")
    group = directory.group("owners", ada)
    store.withdraw(cast.workspace, cast.users["admin"].pk, "admin", actor="user:0")
    user, owners = f"/Users/{ada['id']}", f"/Groups/{group['id']}"
    before = directory.get(user)
    renamed = {"op": "replace", "path": "userName", "value": "half"}
    out = {"op": "replace", "path": "active", "value": False}
    other = {"op": "replace", "path": "displayName", "value": "other"}
    for method, path, body in (
        ("PATCH", user, {"Operations": [renamed, out]}),
        ("PUT", user, {"userName": "half", "active": False}),
        ("DELETE", user, None),
        ("PATCH", owners, {"Operations": [{"op": "remove", "path": "members"}]}),
        ("PATCH", owners, {"Operations": [other]}),
        ("DELETE", owners, None),
    ):
        assert answer(directory, method, path, body)[0] == 409, (method, path)
        assert directory.get(user) == before
    assert roles(ada) == {("default", "admin")}
    assert sound(cast)
