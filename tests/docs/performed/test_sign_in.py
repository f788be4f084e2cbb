"""docs/howto/sign-in.md: second factors, passkeys, single sign-on, a directory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from dashboard.configuration import sign_in
from dashboard.operate.demo.demo import login_path
from dashboard.people.sso import identities
from tests.contract.things import adding, code_of, make_factor
from tests.docs.performing import Performance
from tests.docs.units import sections_of
from tests.support.cast import Cast
from tests.unit.dashboard import calls
from tests.unit.dashboard.access import confirm_waiting
from tests.unit.dashboard.authenticator import Authenticator

pytestmark = pytest.mark.django_db
PARTS = ("", "A second factor", "Single sign-on", "A directory: SCIM 2.0")
BROWSER: dict[str, Any] = {"scopes": None}  # no token has a scope for these


def test_each_section_is_performed() -> None:
    assert tuple(sections_of("sign-in")) == PARTS


def kinds(cast: Cast, limit: int = 30) -> list[str]:
    rows = queries.workspace_events(cast.workspace, limit=limit).rows
    return [str(event.kind) for event in rows if not str(event.kind).startswith("login.")]


def roles_of(name: str) -> set[tuple[str, str]]:
    user = get_user_model().objects.get(username=name)
    return {(workspace, role) for _, workspace, role in queries.memberships(user.pk)}


def signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def bylogin_path(url: str) -> Client:
    """Whoever opens a one-time link and presses its button."""
    client, parts = Client(), urlsplit(url)
    client.get(f"{parts.path}?{parts.query}")
    client.post(parts.path, {"sesame": parts.query.partition("sesame=")[2]})
    return client


def by_password(name: str) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/login/", {"username": name, "password": f"{name}-password"})


def test_without_any_setting(cast: Cast) -> None:
    howto = Performance("sign-in", cast, "")
    client, answer = by_password("manager")
    assert (answer.url, signed_in(client)) == ("/", True)
    link = howto.run("./manage.py login_link NAME", NAME="manager")["url"]
    assert signed_in(bylogin_path(link))
    assert not signed_in(bylogin_path(link)), "once"
    howto.complete()


def test_a_second_factor_is_added_used_and_removed(cast: Cast) -> None:
    howto = Performance("sign-in", cast, "A second factor")
    howto.person("ada", "reviewer")
    proposed = howto.call("POST /second-factor/propose/", "viewer", {}, **BROWSER)
    assert {"secret", "link", "ticket"} <= proposed.keys()
    calls.refused(calls.post(howto.client("viewer"), "/second-factor/propose/", {}), 403)
    body = adding(cast, "manager")
    recovery = howto.call("POST /second-factor/", "manager", body, 201, **BROWSER)["recovery_codes"]
    assert len(recovery) == 10
    assert howto.call("GET /second-factor/", "manager", **BROWSER)["added_at"]
    client, answer = by_password("manager")
    assert (answer.url, signed_in(client)) == ("/login/code/", False)
    client.post("/login/code/", {"code": recovery[0]})
    assert signed_in(client)
    assert "factor.recovered" in kinds(cast)
    again, _ = by_password("manager")
    again.post("/login/code/", {"code": recovery[0]})
    assert not signed_in(again), "a code counts once"
    assert signed_in(bylogin_path(login_path("manager"))), "one-time links ask for no code"

    code = {"code": code_of(make_factor(cast, "second_manager"))}
    howto.call("POST /second-factor/confirm/", "second_manager", code, **BROWSER)
    secret = make_factor(cast, "operator")
    passkey = Authenticator().added(cast.users["operator"])
    listed = howto.call("GET /second-factor/passkeys/", "operator", **BROWSER)["results"]
    assert [one["id"] for one in listed] == [str(passkey.id)]
    start, password = "POST /second-factor/passkeys/{id}/remove/", "operator-password"
    howto.call(start, "operator", {"password": password}, ID=passkey.id, **BROWSER)
    body = {"code": code_of(secret)}
    howto.call("POST /second-factor/remove/", "operator", body, **BROWSER)
    assert kinds(cast)[:2] == ["factor.removed", "passkey.removed"]
    assert by_password("operator")[1].url == "/"

    # Whoever lost app and codes is helped by an admin, by command or by call.
    ident = cast.users["ada"].pk
    make_factor(cast, "ada")
    howto.run("./manage.py user remove-second-factor ada", "admin")
    make_factor(cast, "ada")
    start = "POST /users/{id}/second-factor/remove/"
    howto.call(start, "admin", {}, 202, ID=ident, scopes=("administer",))
    assert confirm_waiting(cast) == 1  # ada decides: another admin confirms it
    assert kinds(cast).count("factor.removed") == 3

    # Require it: pages lead to setting one up, tokens decide nothing, single sign-on is not asked.
    howto.run("./manage.py workspace second-factor reviewer,admin --as admin")
    assert kinds(cast)[0] == "factor.required"
    make_factor(cast, "admin")
    ada = cast.client("ada")
    assert ada.get("/approvals/").url == "/account/second-factor/"
    refused = calls.refused(ada.get("/api/v1/threads/"), 403)
    assert refused["type"].endswith(":second-factor")
    by_command = howto.run("workspace second-factor", "admin")
    by_call = howto.call("GET /workspace/second-factor/", "auditor")
    assert "ada" in by_call["without"]
    assert by_command["without"] == by_call["without"]
    report = howto.run("doctor --deploy", code=1)
    assert "ada" in report
    assert calls.post(cast.client("manager"), "/second-factor/remove/", code).status_code == 409
    assert verify_workspace(cast.workspace).intact
    howto.complete()


@pytest.fixture
def provider(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> Performance:
    """The settings of the page, read as a process reads them."""
    howto = Performance("sign-in", cast, "Single sign-on")
    groups = tmp_path / "groups.json"
    groups.write_text(howto.code("gatepost-operators"))
    for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "NAME"):
        setting, _, value = howto.unit(f"GATEPOST_OIDC_{name}=").partition("=")
        monkeypatch.setenv(setting, value)
    setting, _, value = howto.unit("GATEPOST_GROUPS_FILE=").partition("=")
    monkeypatch.setenv(setting, value.replace("/etc/gatepost/groups.json", str(groups)))
    settings.GATEPOST_OIDC = sign_in.oidc()
    settings.GATEPOST_GROUPS = sign_in.groups()
    return howto


def test_single_sign_on_is_set_and_accounts_are_linked(
    cast: Cast, provider: Performance, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    howto = provider
    ada = howto.person("ada", "reviewer")
    assert settings.GATEPOST_OIDC.issuer == "https://login.example.com/realms/acme"
    assert settings.GATEPOST_OIDC.name == "Acme"
    defaults = dict(re.findall(r"^\| `GATEPOST_OIDC_(\w+)` \| `?([^`|]+?)`? \|", howto.text, re.M))
    assert defaults["SCOPES"].split() == list(settings.GATEPOST_OIDC.scopes)
    assert defaults["GROUPS_CLAIM"] == settings.GATEPOST_OIDC.groups_claim
    assert defaults["USERNAME_CLAIM"] == settings.GATEPOST_OIDC.username_claim
    assert float(defaults["HOURS"]) == settings.GATEPOST_OIDC.hours
    first, second = settings.GATEPOST_GROUPS["gatepost-leads"]
    assert (first.workspace, first.roles) == ("default", ("reviewer",))
    assert (second.workspace, second.roles) == ("research", ("auditor",))
    operators = settings.GATEPOST_GROUPS["gatepost-operators"]
    assert [(one.roles, one.teams) for one in operators] == [(("operator",), ("payments",))]

    howto.run("./manage.py user link ada", "admin")
    issuer = settings.GATEPOST_OIDC.issuer
    assert identities.user_of(issuer, "00u1abcd") == ada
    howto.call("POST /users/{id}/unlink/", "admin", {}, ID=ada.pk, scopes=("administer",))
    assert identities.user_of(issuer, "00u1abcd") is None
    body, start = {"subject": "00u1abcd"}, "POST /users/{id}/link/"
    howto.call(start, "admin", body, 202, ID=ada.pk, scopes=("administer",))
    assert confirm_waiting(cast) == 1  # ada decides: another admin confirms it
    assert identities.user_of(issuer, "00u1abcd") == ada

    assert "`GATEPOST_PASSWORDS=off`" in howto.text
    monkeypatch.setenv("GATEPOST_PASSWORDS", "off")
    settings.GATEPOST_PASSWORDS = sign_in.passwords(settings.GATEPOST_OIDC)
    settings.AUTHENTICATION_BACKENDS = sign_in.backends(settings.GATEPOST_OIDC)
    # The form and the provider: tests/unit/dashboard/identity/test_single_sign_on.py, whose web
    # process starts with such settings.
    assert settings.GATEPOST_PASSWORDS is False
    assert not signed_in(cast.client("manager")), "logins that were made by a password have ended"
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a-long-password")
    howto.run("./manage.py createsuperuser --username rescue", more="--email r@e.example --noinput")
    link = howto.run("./manage.py login_link rescue")["url"]
    assert signed_in(bylogin_path(link))
    assert howto.client("manager").get("/api/v1/threads/").status_code == 200, "tokens go on"
    howto.complete()


def test_a_directory_keeps_people_and_groups(
    cast: Cast, provider: Performance, settings: Any
) -> None:
    howto = Performance("sign-in", cast, "A directory: SCIM 2.0")
    store.create_workspace("research", actor="user:0")
    rescue = get_user_model().objects.create_superuser("rescue", "r@e.example", "a-long-password")
    made = howto.run("./manage.py token create rescue --name okta")
    assert made["scopes"] == ["scim"]
    http = Client(headers={"Authorization": f"Bearer {made['token']}"})
    assert http.get("/api/v1/threads/").status_code == 403, "it opens nothing else"

    def call(
        start: str, body: Any = None, status: int = 200, ident: str = "", query: str = ""
    ) -> Any:
        method, path = howto.unit(start).split(" ")
        address = f"/scim/v2{path.replace('{id}', ident)}{query}"
        raw = "" if body is None else json.dumps(body)
        answer = http.generic(method, address, raw, content_type="application/scim+json")
        assert answer.status_code == status, (start, answer.content)
        return json.loads(answer.content) if answer.content else None

    ada = call("POST /Users", {"userName": "ada", "externalId": "00u1abcd", "active": True}, 201)
    assert roles_of("ada") == set()
    assert not get_user_model().objects.get(username="ada").has_usable_password()
    call("POST /Users", {"userName": "ada", "active": True}, 409)
    for words in re.findall(r"`filter=([^`]+)`", howto.text):
        (one,) = call("GET /Users", query=f"?filter={words}")["Resources"]
        assert one["id"] == ada["id"]
    group = {"displayName": "gatepost-operators", "members": [{"value": ada["id"]}]}
    ops = call("POST /Groups", group, 201)
    assert roles_of("ada") == {("default", "operator")}
    teams = get_user_model().objects.get(username="ada").groups.values_list("name", flat=True)
    assert set(teams) == {"payments", "gatepost-operators"}
    assert call("GET /Groups", query="?startIndex=1&count=200")["totalResults"] == 1
    call("GET /ServiceProviderConfig")
    for path in ("/ResourceTypes", "/Schemas"):
        assert f"`{path}`" in howto.text
        assert http.get(f"/scim/v2{path}").status_code == 200

    schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
    cast.users["ada"] = get_user_model().objects.get(username="ada")
    token = howto.client("ada")
    login = cast.client("ada")
    shut = {"schemas": schemas, "Operations": [{"op": "replace", "value": {"active": False}}]}
    assert token.get("/api/v1/threads/").status_code == 200
    assert signed_in(login)
    call("PATCH /Users/{id}", shut, ident=ada["id"])
    assert token.get("/api/v1/threads/").status_code == 401, "leavers are out at once"
    assert not signed_in(login)
    put = {"userName": "ada", "externalId": "00u1abcd", "active": True}
    answer = http.put(f"/scim/v2/Users/{ada['id']}", put, content_type="application/scim+json")
    assert answer.status_code == 200
    assert token.get("/api/v1/threads/").status_code == 401, "enabling opens none of these"
    call("DELETE /Groups/{id}", status=204, ident=ops["id"])
    assert roles_of("ada") == set()
    call("DELETE /Users/{id}", status=204, ident=ada["id"])
    assert not get_user_model().objects.get(username="ada").is_active

    # A local account is reached once an admin linked it, a superuser's never.
    grace = howto.person("grace", "viewer")
    start = "user link ada --issuer scim"
    howto.run(start, "admin", ada="grace", EXTERNAL_ID="00u-grace")
    assert http.get(f"/scim/v2/Users/{grace.pk}").status_code == 200
    assert http.get(f"/scim/v2/Users/{rescue.pk}").status_code == 404
    assert verify_workspace(cast.workspace).intact
    howto.complete()
