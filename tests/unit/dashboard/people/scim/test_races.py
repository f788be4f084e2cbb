"""A directory changes several groups at the same time: no member is lost, no role comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from dashboard.identity import tokens
from dashboard.people.accounts.accounts import change_account
from dashboard.people.directory import provisioned
from dashboard.people.directory.memberships import apply_groups
from tests.support.cast import make_cast
from tests.unit.dashboard.people.scim.test_scim import GROUPS, V2, Directory, roles


@pytest.fixture
def token(real_db: str, settings: Any) -> str:
    settings.GATEPOST_GROUPS = GROUPS
    cast = make_cast()
    admin = cast.users["admin"]
    change_account(admin, {"is_superuser": True}, actor="user:0", workspace=cast.workspace)
    return tokens.make(admin, made_by="user:0", scopes=["scim"])[1]


def patch(token: str, group: dict[str, Any], operation: dict[str, Any]) -> int:
    body = json.dumps({"Operations": [operation]})
    http, path = Directory(token).http, f"{V2}/Groups/{group['id']}"
    try:
        return http.patch(path, body, content_type="application/scim+json").status_code
    finally:
        connection.close()


@pytest.fixture
def overtaken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Do `first`, and `second` while `first` has written its members and no roles yet."""

    def run(first: Callable[[], int], second: Callable[[], int]) -> list[int]:
        reached, goes_on = Event(), Event()

        def held(*args: Any, **values: Any) -> None:
            if not reached.is_set():
                reached.set()
                goes_on.wait(1)  # no longer: the second may wait for a lock of the first
            apply_groups(*args, **values)

        monkeypatch.setattr(provisioned, "apply_groups", held)
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(first)
            assert reached.wait(20)
            two = pool.submit(second)
            two.add_done_callback(lambda _: goes_on.set())
            results = [one.result(20), two.result(20)]
        monkeypatch.setattr(provisioned, "apply_groups", apply_groups)
        return results

    return run


def add(person: dict[str, Any]) -> dict[str, Any]:
    return {"op": "add", "path": "members", "value": [{"value": person["id"]}]}


def test_two_who_join_one_group_are_both_in(token: str, overtaken: Any) -> None:
    directory = Directory(token)
    ada, bob = directory.add("ada"), directory.add("bob")
    ops = directory.group("ops")
    done = overtaken(lambda: patch(token, ops, add(ada)), lambda: patch(token, ops, add(bob)))
    assert done == [200, 200]
    members = Group.objects.get(name="ops").user_set.order_by("username")
    assert [one.username for one in members] == ["ada", "bob"]
    assert roles(ada) == roles(bob) == {("default", "operator")}


@pytest.mark.slow
def test_who_leaves_one_group_and_joins_another_has_the_roles_of_the_other(
    token: str, overtaken: Any
) -> None:
    directory = Directory(token)
    ada = directory.add("ada")
    ops, leads = directory.group("ops", ada), directory.group("leads")
    leaves = {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'}
    done = overtaken(lambda: patch(token, ops, leaves), lambda: patch(token, leads, add(ada)))
    assert done == [200, 200]
    assert roles(ada) == {("default", "reviewer"), ("elsewhere", "auditor")}
