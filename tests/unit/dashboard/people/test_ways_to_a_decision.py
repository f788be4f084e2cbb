"""Ways by which one admin alone could come to decide in another's name: each waits or is refused.

Calls by login and by token, forms of the records; every call of the API that changes people or
hooks stands here or is named as harmless, so that a new one is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from approvals.hooks import changes as hooks
from dashboard.identity import tokens
from dashboard.identity.second_factor import codes, records
from dashboard.kit.api.base import MemberView
from tests.support.cast import Cast
from tests.unit.dashboard.calls import V1

ISSUER = "https://login.example.com"
NEW = "a-new-pass-word-9"

# {name: (path, body)} of calls; `w` has ids of people and of a hook.
CALLS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "make a reviewer": lambda w: ("/users/", {"username": "eve", "roles": ["reviewer"]}),
    "make an admin": lambda w: ("/users/", {"username": "eve", "roles": ["viewer", "admin"]}),
    "give the role": lambda w: (f"/users/{w['viewer']}/", {"roles": ["reviewer"]}),
    "give it to oneself": lambda w: (f"/users/{w['admin']}/", {"roles": ["admin", "reviewer"]}),
    "enable a reviewer": lambda w: (f"/users/{w['disabled']}/", {"is_active": True}),
    "another address": lambda w: (f"/users/{w['manager']}/", {"email": "me@evil.example"}),
    "a password": lambda w: (f"/users/{w['manager']}/password/", {"password": NEW}),
    "no password": lambda w: (f"/users/{w['manager']}/password/", {"password": None}),
    "no second factor": lambda w: (f"/users/{w['manager']}/second-factor/remove/", {}),
    "another login": lambda w: (
        f"/users/{w['manager']}/link/",
        {"subject": "mine", "issuer": ISSUER},
    ),
    "a hook's word": lambda w: (
        f"/hooks/{w['hook']}/identities/",
        {"identity": "me", "user": "manager"},
    ),
    "a word for oneself": lambda w: (f"/identities/{w['word']}/confirm/", {}),
    "deputy of a reviewer": lambda w: (
        "/deputies/",
        {"deputy": "admin", "person": "manager", "ends": "2030-01-01T00:00Z"},
    ),
}
# {name: (address, form)} of the records.
FORMS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "make a reviewer": lambda w: (
        "auth/user/add/",
        {
            "username": "eve",
            "usable_password": "true",
            "password1": NEW,
            "password2": NEW,
            "roles": ["reviewer"],
        },
    ),
    "give the role": lambda w: (
        "checkpoints/membership/add/",
        {"user": w["viewer"], "role": "reviewer", "workspace": w["workspace"]},
    ),
    "change the person": lambda w: (
        f"auth/user/{w['viewer']}/change/",
        {"username": "viewer", "is_active": "on", "roles": ["viewer", "reviewer"]},
    ),
    "a password": lambda w: (
        f"auth/user/{w['manager']}/password/",
        {"usable_password": "true", "password1": NEW, "password2": NEW},
    ),
    "no second factor": lambda w: (f"auth/user/{w['manager']}/second-factor/remove/", {}),
    "a hook's word": lambda w: (
        "approvals/hookidentity/add/",
        {"hook": w["hook"], "identity": "me", "user": w["manager"]},
    ),
}
# Calls of the rights `people`, `hook` and `delegate` that let nobody decide.
HARMLESS = {
    *("sign-out/", "unlink/", "revoke/", "workspace/", "second-factor/", "rotate/", "switch/"),
    *("remove/", "hooks/"),
}


@pytest.fixture
def ways(cast: Cast) -> dict[str, Any]:
    """What the ways name: people, a hook, and its word that the manager has not confirmed."""
    cast.users["second_manager"].is_active = False
    cast.users["second_manager"].save()
    records.add(cast.users["manager"], codes.new_secret(), 1, actor="user:0")
    hook, _ = hooks.add(cast.workspace, "slack", actor="user:0")
    manager = cast.users["manager"].pk
    word = hooks.map_identity(hook.id, "U1", manager, workspace=cast.workspace, actor="user:0")
    people = {name: user.pk for name, user in cast.users.items()}
    return people | {
        "disabled": people["second_manager"],
        "hook": str(hook.id),
        "word": str(word.id),
        "workspace": str(cast.workspace),
    }


def power() -> dict[str, list[Any]]:
    """All that lets somebody decide, as the database has it."""
    questions = {
        "roles": "SELECT user_id, workspace_id, role FROM gp_membership ORDER BY 1, 2, 3",
        "accounts": "SELECT id, username, email, password, is_active, is_superuser FROM auth_user "
        "ORDER BY 1",
        "words": "SELECT id, user_id, identity, confirmed_by FROM gp_hook_identity ORDER BY 1",
        "factors": "SELECT user_id FROM gp_second_factor ORDER BY 1",
        "logins": "SELECT user_id, provider, subject FROM gp_identity ORDER BY 1, 2",
        "deputies": "SELECT person, deputy FROM gp_deputy ORDER BY 1, 2",
    }
    results = {}
    with connection.cursor() as cursor:
        for name, sql in questions.items():
            cursor.execute(sql)
            results[name] = list(cursor.fetchall())
    return results


@pytest.mark.parametrize("by", ["login", "token"])
@pytest.mark.parametrize("route", CALLS)
def test_no_call_lets_one_admin_decide(
    cast: Cast, ways: dict[str, Any], route: str, by: str
) -> None:
    admin, headers = cast.client("admin"), {}
    if by == "token":
        scopes = tokens.scopes_of(cast.actor("admin"))
        _, token = tokens.make(cast.users["admin"], made_by="user:0", scopes=scopes)
        admin, headers = Client(), {"Authorization": f"Bearer {token}"}
    path, body = CALLS[route](ways)
    before = power()
    answer = admin.post(f"{V1}{path}", body, content_type="application/json", headers=headers)
    assert answer.status_code in (202, 403, 404, 422), answer.content
    assert power() == before
    if answer.status_code == 202:
        # Nor does the same admin confirm it, in the same way.
        confirm = f"{V1}/access-changes/{answer.json()['change']}/confirm/"
        refused = admin.post(confirm, {}, content_type="application/json", headers=headers)
        assert refused.status_code == 403, refused.content
        assert power() == before


@pytest.mark.parametrize("route", FORMS)
def test_no_form_lets_one_admin_decide(cast: Cast, ways: dict[str, Any], route: str) -> None:
    path, form = FORMS[route](ways)
    before = power()
    answer = cast.client("admin").post(f"/admin/{path}", form)
    assert (answer.status_code, answer.get("Location")) == (303, "/access/"), answer.content[:500]
    assert power() == before
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_access_change WHERE state = 'waiting'")
        assert cursor.fetchone() == (1,)


def test_each_call_that_changes_people_or_hooks_is_known(ways: dict[str, Any]) -> None:
    from dashboard.api_urls import urlpatterns

    sweep = {path for path, _ in (one(ways) for one in CALLS.values())}
    unknown = []
    for address, view in _views(urlpatterns):
        if view.changes not in ("people", "hook", "delegate", "access", "stand_for"):
            continue
        named = any(_fits(address, path) for path in sweep)
        harmless = any(address.endswith(ending) for ending in HARMLESS)
        if not (named or harmless or view.changes == "access"):
            unknown.append(address)
    assert unknown == []


def _views(patterns: Any, prefix: str = "") -> list[tuple[str, type[MemberView]]]:
    results = []
    for one in patterns:
        if hasattr(one, "url_patterns"):
            results += _views(one.url_patterns, prefix + str(one.pattern))
            continue
        view = getattr(one.callback, "view_class", None) or getattr(one.callback, "cls", None)
        if view is not None and issubclass(view, MemberView) and hasattr(view, "post"):
            results.append((prefix + str(one.pattern), view))
    return results


def _fits(address: str, path: str) -> bool:
    """Answer True where an address with ids in it is that of a path."""
    parts, others = address.strip("/").split("/"), path.strip("/").split("/")
    if len(parts) < len(others):
        return False
    parts = parts[-len(others) :]
    return all(a == b or a.startswith("<") for a, b in zip(parts, others, strict=True))
