"""A second factor that a workspace requires: who is held up, where, and the way through."""

from __future__ import annotations

import json
import re
import time
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from dashboard.errors import NeedsSecondFactor
from dashboard.identity import tokens
from dashboard.identity.permissions import actor_of, may, require
from dashboard.identity.second_factor import codes, records, requirement
from dashboard.identity.visitors import visitor
from dashboard.operate.doctor import deployment
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
PASSWORD = "manager-password"
SET_UP = "/account/second-factor/"


@pytest.fixture
def ada(cast: Cast) -> Any:
    """The reviewer, of whose role a second factor is required."""
    store.require_second_factor(cast.workspace, ["reviewer"], actor="user:0")
    return cast.users["manager"]


def signed_in(user: Any) -> Client:
    client = Client()
    assert client.post("/login/", {"username": user.username, "password": PASSWORD}).url == "/"
    return client


def added(user: Any) -> list[str]:
    return records.add(user, codes.new_secret(), 0, actor=f"user:{user.pk}")


def send(client: Client, path: str, body: Any, **headers: Any) -> Any:
    return client.post(
        f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers
    )


def test_without_a_factor_every_page_leads_to_setting_one_up(cast: Cast, ada: Any) -> None:
    client = signed_in(ada)
    for path in ("/", "/approvals/", "/account/sign-ins/", "/overview/", "/incidents/"):
        answer = client.get(path)
        assert (answer.status_code, answer.url) == (303, SET_UP), path
    posted = client.post("/threads/many/", {"action": "pause"})
    assert (posted.status_code, posted.url) == (303, SET_UP)
    assert client.post(f"{SET_UP}remove/", {"code": "1"}).url == SET_UP
    poll = client.get("/", headers={"X-Gatepost-Regions": "nav-approvals"})
    assert (poll.status_code, "second factor" in poll.json()["error"]) == (403, True)
    assert visitor(str(client.session.session_key)) is None, "no socket either"

    page = client.get(SET_UP).content.decode()
    assert "Your role in default needs a second factor" in page
    assert 'href="/approvals/' not in page, "no menu leads elsewhere"
    secret = re.search(r'id="secret">([A-Z2-7 ]+)<', page)[1].replace(" ", "")  # type: ignore[index]
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]  # type: ignore[index]
    form = {"ticket": ticket, "password": PASSWORD}
    page = client.post(f"{SET_UP}add/", form | {"code": "000000"}).content.decode()
    assert "Your role in default" in page
    form["code"] = codes.code_at(secret, time.time())
    page = client.post(f"{SET_UP}add/", form).content.decode()
    recovery = re.findall(r"<li><code>([a-z2-7-]{19})</code>", page)
    assert len(recovery) == codes.RECOVERY_COUNT
    assert client.get("/approvals/").status_code == 200

    page = client.get(SET_UP).content.decode()
    assert "you can’t remove it" in page
    assert "Remove the second factor" not in page
    refused = client.post(f"{SET_UP}remove/", {"code": recovery[0]})
    assert refused.status_code == 409
    assert send(client, "second-factor/remove/", {"code": recovery[0]}).status_code == 409
    assert records.factor_of(ada.pk).recovery_left == 10, "no code was used up"  # type: ignore[union-attr]
    store.require_second_factor(cast.workspace, [], actor="user:0")
    assert client.post(f"{SET_UP}remove/", {"code": recovery[0]}).status_code == 303
    assert client.get("/").status_code == 200


def test_signing_out_works_without_a_factor(ada: Any) -> None:
    client = signed_in(ada)
    assert client.post("/logout/").status_code == 302
    assert "_auth_user_id" not in client.session


def test_the_api_refuses_all_but_the_set_up(ada: Any) -> None:
    client = signed_in(ada)
    for answer in (client.get("/api/v1/threads/"), send(client, "second-factor/remove/", {})):
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:gatepost:problem:second-factor"
    assert client.get("/api/v1/second-factor/").status_code == 200
    made = send(client, "second-factor/propose/", {}).json()
    body = {"ticket": made["ticket"], "password": PASSWORD}
    body["code"] = codes.code_at(made["secret"], time.time())
    assert send(client, "second-factor/", body).status_code == 201
    assert client.get("/api/v1/threads/").status_code == 200


def test_a_token_decides_nothing_and_reads_on(cast: Cast, ada: Any) -> None:
    _, token = tokens.make(ada, made_by="user:0", scopes=["read", "decide"])
    actor = actor_of(*tokens.presented(token))
    assert may(actor, "read")
    with pytest.raises(NeedsSecondFactor, match="set it up first"):
        require(actor, "decide")
    client, headers = Client(), {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/threads/", headers=headers).status_code == 200
    path = f"approvals/{cast.workspace}/decide/"
    answer = send(client, path, {"verdict": "approve"}, **headers)
    assert (answer.status_code, answer.json()["type"][-14:]) == (403, ":second-factor")
    added(ada)
    require(actor_of(*tokens.presented(token)), "decide")


def test_others_are_not_held_up(cast: Cast, ada: Any, settings: Any) -> None:
    assert cast.client("operator").get("/").status_code == 200, "another role"
    link = Client()
    link.force_login(ada, "dashboard.identity.backends.Links")
    assert link.get("/").status_code == 200, "a one-time link is somebody else's word"
    settings.GATEPOST_PASSWORDS = False
    _, token = tokens.make(ada, made_by="user:0", scopes=["decide"])
    require(actor_of(*tokens.presented(token)), "decide")
    settings.GATEPOST_PASSWORDS = True
    ada.set_unusable_password()
    ada.save()
    require(actor_of(*tokens.presented(token)), "decide")


def test_the_rule_is_of_the_workspace_that_one_acts_in(cast: Cast, ada: Any) -> None:
    store.grant(cast.elsewhere, ada.pk, "reviewer", actor="user:0")
    client = signed_in(ada)
    assert client.get("/").url == SET_UP
    assert client.post("/workspace/", {"workspace": str(cast.elsewhere)}).url == "/"
    assert client.get("/").status_code == 200
    # The one page about all of one's factors still says who requires it.
    added(ada)
    assert send(client, "second-factor/remove/", {"code": "1"}).status_code == 409


def test_the_records_are_held_up_as_well(cast: Cast) -> None:
    store.require_second_factor(cast.workspace, ["admin"], actor="user:0")
    admin = cast.client("admin")
    for path in ("/admin/", "/admin/auth/user/", f"/admin/auth/user/{cast.users['admin'].pk}/"):
        assert admin.get(path).url == SET_UP, path
    page = f"/admin/checkpoints/workspace/{cast.workspace}/change/"
    admin.post(page, {"name": "default"})
    assert requirement.roles_needing(cast.workspace) == {"admin"}
    added(cast.users["admin"])
    assert admin.get("/admin/").status_code == 200


def test_a_superuser_without_a_role_is_an_admin_here_too(
    cast: Cast, django_user_model: Any
) -> None:
    root = django_user_model.objects.create_superuser("root", password="root-password")
    store.require_second_factor(cast.workspace, ["admin"], actor="user:0")
    client = Client()
    client.force_login(root, "dashboard.identity.backends.Passwords")
    assert client.get("/admin/").url == SET_UP
    recovery = added(root)
    assert send(client, "second-factor/remove/", {"code": recovery[0]}).status_code == 409


def test_page_call_and_command_set_the_rule_with_an_event(cast: Cast) -> None:
    admin, page = cast.client("admin"), f"/admin/checkpoints/workspace/{cast.workspace}/change/"
    assert 'name="second_factor_roles"' in admin.get(page).content.decode()
    form = {"name": "default", "second_factor_roles": ["operator", "reviewer"]}
    assert admin.post(page, form).status_code == 302
    checked = admin.get(page).content.decode()
    assert len(re.findall(r'name="second_factor_roles"[^>]*checked', checked)) == 2
    answer = admin.get("/api/v1/workspace/second-factor/").json()
    assert answer == {
        "roles": ["operator", "reviewer"],
        "without": ["manager", "operator", "second_manager"],
    }
    assert len(list(deployment.second_factors(None))) == 1  # type: ignore[arg-type]
    added(cast.users["operator"])
    answer = send(admin, "workspace/second-factor/", {"roles": ["operator"]}).json()
    assert answer == {"roles": ["operator"], "without": []}
    assert list(deployment.second_factors(None)) == []  # type: ignore[arg-type]
    out = StringIO()
    words = ("workspace", "second-factor")
    call_command(*words, "reviewer,viewer", as_user="admin", stdout=out)
    assert "manager, second_manager, viewer" in out.getvalue()
    call_command(*words, "none", as_user="admin", stdout=out)
    call_command(*words, as_user="admin", stdout=out)
    rows = reversed(queries.workspace_events(cast.workspace).rows)
    events = [(e.data["from"], e.data["to"]) for e in rows if str(e.kind) == "factor.required"]
    assert events == [
        ([], ["operator", "reviewer"]),
        (["operator", "reviewer"], ["operator"]),
        (["operator"], ["viewer", "reviewer"]),
        (["viewer", "reviewer"], []),
    ]
    assert verify_workspace(cast.workspace).intact


def test_only_admins_set_it_and_only_for_roles_that_there_are(cast: Cast) -> None:
    path = "workspace/second-factor/"
    for name in ("operator", "auditor"):
        assert send(cast.client(name), path, {"roles": []}).status_code == 403
    assert cast.client("auditor").get(f"/api/v1/{path}").status_code == 200
    assert cast.client("viewer").get(f"/api/v1/{path}").status_code == 403
    assert send(cast.client("admin"), path, {"roles": ["king"]}).status_code == 422
    with pytest.raises(SystemExit):
        call_command("workspace", "second-factor", "king", as_user="admin", stdout=StringIO())
    assert requirement.roles_needing(cast.workspace) == frozenset()


def test_a_rule_that_is_lifted_past_the_log_is_found(cast: Cast, ada: Any) -> None:
    from checkpoints.models import Workspace

    Workspace.objects.filter(pk=cast.workspace).update(second_factor_roles=[])
    message = verify_workspace(cast.workspace).what
    assert "the workspace 'default' was altered past the log: second_factor_roles" in message
