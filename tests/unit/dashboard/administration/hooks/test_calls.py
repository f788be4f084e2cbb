"""Admins look after hooks by calls of the API: the same rights, rows and log as in the records."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from approvals.queries import ApprovalRow
from dashboard.identity import tokens
from tests.support.cast import Cast
from tests.unit.dashboard.access import confirm_waiting
from tests.unit.dashboard.administration.hooks.helpers import CLIENT, kinds
from tests.unit.dashboard.hooking import send, verdict

pytestmark = [pytest.mark.requirement("C35"), pytest.mark.requirement("D06")]
HOOKS = "/api/v1/hooks/"


def post(client: Any, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(
        f"{HOOKS}{path}", body, content_type="application/json", headers=headers or None
    )


def test_a_hook_is_made_mapped_rotated_and_kept_out(cast: Cast, row: ApprovalRow) -> None:
    admin = cast.client("admin")
    made = post(admin, "", {"name": "slack"}, **{"Idempotency-Key": "one"})
    assert made.status_code == 201, made.content
    hook = made.json()
    assert hook["address"] == f"/api/v1/hooks/decide/?hook={hook['id']}"
    assert (hook["name"], hook["active"], hook["secrets"]) == ("slack", True, 1)
    with connection.cursor() as cursor:  # a stored answer would be a stored secret
        cursor.execute("SELECT count(*) FROM gp_idempotency_key")
        assert cursor.fetchone()[0] == 0
    at = f"{hook['id']}/"
    mapped = post(admin, f"{at}identities/", {"identity": "U1", "user": "manager"})
    manager = f"user:{cast.users['manager'].pk}"
    assert mapped.status_code == 202, mapped.content
    assert confirm_waiting(cast) == 1
    own = cast.client("manager")
    [word] = own.get("/api/v1/identities/").json()["results"]
    assert (word["user"], word["user_name"], word["confirmed_by"]) == (manager, "manager", "")
    path = f"/api/v1/identities/{word['id']}/confirm/"
    for who in ("admin", "second_manager"):
        assert cast.client(who).post(path, {}, content_type="application/json").status_code == 404
    _, token = tokens.make(cast.users["manager"], made_by="user:0", scopes=["read", "decide"])
    by_token = {"Authorization": f"Bearer {token}"}
    tried = CLIENT.post(path, {}, content_type="application/json", headers=by_token)
    assert tried.status_code == 403, tried.content
    confirmed = own.post(path, {}, content_type="application/json")
    assert confirmed.json()["confirmed_by"] == manager, confirmed.content
    rotated = post(admin, f"{at}rotate/", {"keep": 60}).json()
    assert (rotated["secrets"], rotated["secret"] != hook["secret"]) == (2, True)
    # The former secret still holds: its sender has a minute to change it.
    assert send(CLIENT, hook["id"], verdict(row), secret=hook["secret"]).status_code == 200
    last = post(admin, f"{at}rotate/", {"keep": 0}).json()
    assert last["secrets"] == 1
    off = post(admin, f"{at}switch/", {"active": False}).json()
    assert off["active"] is False
    assert send(CLIENT, hook["id"], verdict(row), secret=last["secret"]).status_code == 404
    assert post(admin, f"{at}switch/", {"active": True}).json()["active"] is True
    left = post(admin, f"{at}identities/remove/", {"identity": "U1"})
    assert (left.status_code, left.json()["identities"]) == (200, [])
    assert post(admin, f"{at}identities/remove/", {"identity": "U1"}).status_code == 404
    assert kinds(cast.workspace) == [
        *(
            "hook.created",
            "hook.mapped",
            "hook.confirmed",
            "hook.rotated",
            "hook.rotated",
            "hook.disabled",
        ),
        *("hook.enabled", "hook.unmapped"),
    ]


def test_auditors_look_and_nobody_sees_a_secret(cast: Cast, hook: tuple[UUID, str]) -> None:
    ident, secret = hook
    auditor = cast.client("auditor")
    (listed,) = auditor.get(HOOKS).json()["results"]
    one = auditor.get(f"{HOOKS}{ident}/").json()
    assert listed == {key: value for key, value in one.items() if key != "identities"}
    assert [(i["identity"], i["user_name"]) for i in one["identities"]] == [
        *(("U1", "manager"), ("U2", "operator"), ("U3", "second_manager")),
    ]
    assert secret not in str(one)
    for who in ("viewer", "operator", "manager"):
        for path in ("", f"{ident}/"):
            answer = cast.client(who).get(f"{HOOKS}{path}")
            assert answer.status_code == 403, who
            assert "auditor or admin" in answer.json()["detail"]
    assert cast.client("stranger").get(HOOKS).json()["results"] == []
    assert cast.client("stranger").get(f"{HOOKS}{ident}/").status_code == 404


def test_a_refusal_names_the_place(cast: Cast, hook: tuple[UUID, str]) -> None:
    admin, at = cast.client("admin"), f"{hook[0]}/"
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("", {"name": "Not a word"}, "$.name"),
        ("", {"name": "slack"}, "$.name"),  # is there already
        ("", {"name": "pager", "secret": "whsec_"}, "$.secret"),
        (f"{at}rotate/", {"keep": -1}, "$.keep"),
        (f"{at}rotate/", {"keep": 31 * 86_400}, "$.keep"),
        (f"{at}identities/", {"identity": "U\u202e1", "user": "manager"}, "$.identity"),
        (f"{at}identities/", {"identity": "ghp_" + "a1B2" * 9, "user": "manager"}, "$.identity"),
        (f"{at}identities/", {"identity": "U1"}, "$.user"),
        (f"{at}switch/", {}, "$.active"),
    ]
    for path, body, at_fault in refused:
        answer = post(admin, path, body)
        assert (answer.status_code, answer.json()["path"]) == (422, at_fault), answer.content
    # Of another workspace, of nobody, of no hook.
    for name in ("stranger", "nobody", "not there"):
        body = {"identity": "U5", "user": name}
        assert post(admin, f"{at}identities/", body).status_code == 404
    assert post(admin, f"{uuid4()}/rotate/", {}).status_code == 404


def test_a_token_of_the_scope_administer_does(cast: Cast) -> None:
    for scopes, status in ((["administer"], 201), (["read"], 403)):
        bearer = tokens.make(cast.users["admin"], made_by="user:0", scopes=scopes)[1]
        answer = post(CLIENT, "", {"name": "pager"}, Authorization=f"Bearer {bearer}")
        assert answer.status_code == status, answer.content


def test_mapping_is_done_once_per_key(cast: Cast, hook: tuple[UUID, str]) -> None:
    admin = cast.client("admin")
    body, key = {"identity": "U7", "user": "manager"}, {"Idempotency-Key": "map-1"}
    first, again = (post(admin, f"{hook[0]}/identities/", body, **key) for _ in range(2))
    assert first.status_code == 202
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
