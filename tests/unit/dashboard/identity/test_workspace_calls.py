"""Tokens, passwords and names of workspaces by call and command."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from checkpoints import queries
from dashboard.identity import tokens
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db


def send(client: Client, path: str, body: str = "{}") -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def test_an_admin_lists_and_ends_tokens_of_the_workspace_alone(cast: Cast) -> None:
    row, secret = tokens.make(cast.users["operator"], made_by="user:0", name="ci")
    foreign, _ = tokens.make(cast.users["stranger"], made_by="user:0")
    admin = cast.client("admin")
    shown = admin.get("/api/v1/tokens/").json()["results"]
    assert [one["prefix"] for one in shown] == [row.prefix]
    assert secret not in str(shown)
    assert cast.client("operator").get("/api/v1/tokens/").status_code == 403
    assert send(admin, f"/tokens/{foreign.prefix}/revoke/").status_code == 404
    assert send(admin, f"/tokens/{row.prefix}/revoke/").json()["state"] == "revoked"
    head = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/threads/", headers=head).status_code == 401


def test_a_password_is_judged_set_and_ends_sign_ins(cast: Cast) -> None:
    admin, viewer = cast.client("admin"), cast.client("viewer")
    path = f"/users/{cast.users['viewer'].pk}/password/"
    short = send(admin, path, '{"password": "short"}')
    assert (short.status_code, short.json()["path"]) == (422, "$.password")
    assert send(admin, path, '{"password": "a long pass word"}').json() == {"has_password": True}
    assert viewer.get("/").status_code == 302
    assert send(admin, path, '{"password": null}').json() == {"has_password": False}


def test_a_workspace_is_named_and_made(cast: Cast) -> None:
    admin = cast.client("admin")
    assert send(admin, "/workspace/", '{"name": "Payments"}').json()["name"] == "Payments"
    assert admin.get("/api/v1/workspace/").json()["name"] == "Payments"
    assert send(admin, "/workspace/", '{"name": " "}').status_code == 422
    assert send(cast.client("operator"), "/workspace/", '{"name": "x"}').status_code == 403
    call_command("workspace", "rename", "Default", as_user="admin", stdout=StringIO())
    assert admin.get("/api/v1/workspace/").json()["name"] == "Default"
    call_command("workspace", "create", "Two", admin="viewer", stdout=StringIO())
    out = StringIO()
    call_command("workspace", "list", as_user="viewer", stdout=out)
    assert "Two" in out.getvalue()
    places = {name for _, name, _ in queries.memberships(cast.users["viewer"].pk)}
    assert places == {"Default", "Two"}
