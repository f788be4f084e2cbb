"""Users, roles, caps, endpoints and policies by command and by token, without a browser."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from approvals.notify import queries as endpoints
from approvals.policies import queries as queries_policies
from checkpoints import queries
from checkpoints.chain.workspaces import verify_workspace
from dashboard.identity import tokens
from dashboard.people.sso import identities
from tests.support.cast import Cast
from tests.unit.dashboard.calls import V1, post, refused


def call(*words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def answer(*words: str) -> Any:
    code, out, err = call(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def roles_of(cast: Cast, name: str) -> set[str]:
    user = get_user_model()._default_manager.get(username=name)
    roles = queries.memberships(user.pk)
    return {role for workspace, _, role in roles if workspace == cast.workspace}


@pytest.fixture
def script(cast: Cast) -> Client:
    """A program with an admin's token."""
    _, token = tokens.make(cast.users["admin"], made_by="test", scopes=["administer"])
    return Client(headers={"Authorization": f"Bearer {token}"})


def test_the_first_operator_is_made_in_a_terminal(cast: Cast) -> None:
    code, _, err = call("user", "create", "ada", "--role", "operator", "--role", "reviewer")
    assert code == 0, err
    assert "login_link ada" in err
    assert roles_of(cast, "ada") == {"operator", "reviewer"}
    assert answer("user", "roles", "ada", "auditor")["roles"] == ["auditor"]
    assert roles_of(cast, "ada") == {"auditor"}
    assert answer("user", "disable", "ada")["is_active"] is False
    assert answer("user", "enable", "ada")["is_active"] is True
    assert "ada" in {one["username"] for one in answer("user", "list")["results"]}
    assert verify_workspace(cast.workspace).intact


def test_a_provider_vouches_for_an_account_that_was_made_here(cast: Cast) -> None:
    issuer = "https://login.example.com"
    code, _, err = call("user", "link", "operator", "--subject", "00u1", "--issuer", issuer)
    assert code == 0, err
    assert identities.user_of(issuer, "00u1") == cast.users["operator"]
    taken = call("user", "link", "viewer", "--subject", "00u1", "--issuer", issuer)
    assert "another account" in taken[2]
    code, _, err = call("user", "unlink", "operator", "--issuer", issuer)
    assert code == 0, err
    assert identities.user_of(issuer, "00u1") is None
    assert verify_workspace(cast.workspace).intact


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("user", "create", "ada"), "names no role"),
        (("user", "link", "operator", "--subject", "x"), "no single sign-on here"),
        (("user", "unlink", "operator", "--issuer", "https://a.example"), "not linked"),
        (("user", "roles", "nobody", "operator"), "no user nobody"),
        (("user", "roles", "operator", "king"), "is not one of"),
        (("cap", "off", "thread", "day"), "no such spend cap"),
        (("endpoint", "test", "nowhere"), "no endpoint nowhere"),
        (("policy", "change", "None", "--switch", "off"), "No policy is called None"),
    ],
)
def test_what_cannot_be_done_is_said(cast: Cast, words: tuple[str, ...], why: str) -> None:
    code, _, err = call(*words)
    assert code != 0
    assert why in err


def test_caps_by_command(cast: Cast) -> None:
    assert answer("cap", "set", "thread", "total", "5")["max_cost"] == "5.00"
    assert answer("cap", "set", "thread", "total", "7.5")["max_cost"] == "7.50"
    assert answer("cap", "off", "thread", "total")["active"] is False
    assert len(queries_policies.caps(cast.workspace)) == 1


def test_endpoints_by_command(cast: Cast) -> None:
    words = ("endpoint", "create", "webhook", "ci", "--target", "https://ci.example/hook")
    code, out, err = call(*words, "--event", "thread.failed")
    assert code == 0, err
    assert out.strip().startswith("whsec_")
    assert "only time" in err
    [row] = endpoints.endpoints(workspace=cast.workspace)
    assert (row.name, row.events) == ("ci", ["thread.failed"])
    assert answer("endpoint", "change", "ci", "--event", "thread.stuck")["events"] == [
        "thread.stuck"
    ]
    assert answer("endpoint", "disable", "ci")["active"] is False
    assert answer("endpoint", "enable", "ci")["active"] is True
    again = call("endpoint", "rotate", "ci", "--keep", "1h")[1]
    assert again.strip().startswith("whsec_")
    assert again != out
    assert "whsec_" not in json.dumps(answer("endpoint", "list"))
    assert call("endpoint", "test", "ci")[0] == 0


def test_policies_by_command(cast: Cast, tmp_path: Path) -> None:
    draft = tmp_path / "mails.json"
    draft.write_text(json.dumps({"name": "Mails", "condition": "tool == 'mail'"}))
    assert answer("policy", "create", str(draft))["number"] == 1
    draft.write_text(json.dumps({"name": "Mails", "condition": "tool == 'mail' && cost > 1"}))
    changed = answer("policy", "change", "Mails", "--draft", str(draft), "--waiting", "keep")
    assert changed["number"] == 2
    assert answer("policy", "change", "Mails", "--switch", "off")["active"] is False
    code, _, err = call("policy", "change", "Mails", "--draft", str(draft), "--number", "1")
    assert code != 0, err


def test_everything_by_token(cast: Cast, script: Client) -> None:
    made = post(script, "/users/", {"username": "ben", "roles": ["operator"], "password": "x" * 14})
    assert made.status_code == 201, made.content
    user = made.json()
    assert "password" not in user
    changed = post(script, f"/users/{user['id']}/", {"roles": ["viewer"], "email": "b@example.com"})
    assert changed.json()["roles"] == ["viewer"]
    assert roles_of(cast, "ben") == {"viewer"}
    assert "ben" in {one["username"] for one in script.get(f"{V1}/users/").json()["results"]}
    hook = {"kind": "webhook", "name": "ci", "target": "https://ci.example/hook"}
    assert post(script, "/endpoints/", hook).status_code == 201
    assert verify_workspace(cast.workspace).intact


def test_no_token_changes_what_holds_agents(cast: Cast) -> None:
    everything = tokens.scopes_of(cast.actor("admin"))
    _, token = tokens.make(cast.users["admin"], made_by="test", scopes=everything)
    script = Client(headers={"Authorization": f"Bearer {token}"})
    draft = {"name": "Mails", "condition": "tool == 'mail'"}
    policy = post(cast.client("admin"), "/policies/", draft).json()["id"]
    tried = {
        "/policies/": draft | {"name": "All", "action": "allow"},
        f"/policies/{policy}/": {"active": False},
        "/caps/": {"scope": "workspace", "per": "day", "max_cost": "100"},
        "/budgets/": {"scope": "workspace", "max_cost": "100"},
    }
    for path, body in tried.items():
        message = refused(post(script, path, body), 403)["detail"]
        assert message.startswith("No token changes policies or limits of spending"), path
    assert [row.active for row in queries_policies.policies(cast.workspace)] == [True]
    assert queries_policies.caps(cast.workspace) == []


def test_a_token_without_the_scope_and_others_administer_nothing(
    cast: Cast, operator: Client
) -> None:
    _, token = tokens.make(cast.users["admin"], made_by="test", scopes=["read"])
    reader = Client(headers={"Authorization": f"Bearer {token}"})
    body = {"username": "eve", "roles": ["admin"]}
    message = refused(post(reader, "/users/", body), 403)["detail"]
    assert message == "This token lacks the scope 'administer'."
    refused(post(operator, "/users/", body), 403)
    refused(operator.get(f"{V1}/users/"), 403)
    assert not get_user_model()._default_manager.filter(username="eve").exists()
    # It has to be asked for by name.
    _, usual = tokens.make(cast.users["admin"], made_by="test")
    refused(post(Client(headers={"Authorization": f"Bearer {usual}"}), "/users/", body), 403)


def test_people_of_other_workspaces_are_out_of_reach(cast: Cast, script: Client) -> None:
    stranger = get_user_model()._default_manager.create_user("far", password=None)
    refused(post(script, f"/users/{stranger.pk}/", {"is_active": False}), 404)
    admin = cast.users["admin"]
    # Nobody makes himself a reviewer, through a token neither.
    refused(post(script, f"/users/{admin.pk}/", {"roles": ["admin", "reviewer"]}), 403)
    assert roles_of(cast, admin.get_username()) == {"admin"}
