"""Settings of single sign-on: what is wrong in them is one line for whoever starts Gatepost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.configuration import sign_in
from dashboard.configuration.sign_in import Access
from dashboard.configuration.sources import Misconfigured
from tests.faults.embedded.helpers import ROOT

OIDC = {
    "GATEPOST_OIDC_ISSUER": "https://login.example.com/",
    "GATEPOST_OIDC_CLIENT_ID": "gatepost",
}


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [n for n in os.environ if n.startswith(("GATEPOST_OIDC", "GATEPOST_GROUPS"))]:
        monkeypatch.delenv(name)
    return monkeypatch


def test_without_an_issuer_there_is_nothing_of_the_extra(env: pytest.MonkeyPatch) -> None:
    assert sign_in.oidc() is None
    assert (sign_in.apps(None), sign_in.middleware(None), sign_in.providers(None)) == ([], [], {})
    assert sign_in.backends(None) == list(sign_in.BACKENDS)
    assert sign_in.groups() == {}


def test_a_provider_with_its_defaults(env: pytest.MonkeyPatch) -> None:
    for name, value in (OIDC | {"GATEPOST_OIDC_CLIENT_SECRET": "hush"}).items():
        env.setenv(name, value)
    made = sign_in.oidc()
    assert made is not None
    assert (made.issuer, made.secret, made.name) == (
        *("https://login.example.com", "hush", "single sign-on"),
    )
    assert (made.groups_claim, made.username_claim, made.hours) == (
        *("groups", "preferred_username", 12.0),
    )
    assert sign_in.providers(made)["openid_connect"]["OAUTH_PKCE_ENABLED"] is True
    env.setenv("GATEPOST_PASSWORDS", "off")
    assert sign_in.backends(made) == [
        *("dashboard.identity.lockout.PasswordLockout", "dashboard.identity.backends.Links"),
        "dashboard.identity.backends.SingleSignOn",
    ]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"GATEPOST_OIDC_ISSUER": "http://login.example.com"}, "must begin with https"),
        ({"GATEPOST_OIDC_ISSUER": "https://login.example.com"}, "CLIENT_ID is missing"),
        (OIDC | {"GATEPOST_OIDC_HOURS": "-1"}, "HOURS is a number of hours"),
        (OIDC | {"GATEPOST_OIDC_HOURS": "nan"}, "HOURS is a number of hours"),
        ({"GATEPOST_PASSWORDS": "maybe"}, "is one of on, off"),
        ({"GATEPOST_PASSWORDS": "off"}, "names no other way to sign in"),
    ],
)
def test_what_cannot_work_is_refused(
    env: pytest.MonkeyPatch, values: dict[str, str], problem: str
) -> None:
    for name, value in values.items():
        env.setenv(name, value)
    with pytest.raises(Misconfigured, match=problem):
        sign_in.passwords(sign_in.oidc())


def test_without_the_extra_a_provider_is_refused_by_name(env: pytest.MonkeyPatch) -> None:
    for name, value in OIDC.items():
        env.setenv(name, value)
    env.setattr(sign_in, "find_spec", lambda _: None)
    with pytest.raises(Misconfigured, match=r"pip install '\.\[sso\]'"):
        sign_in.oidc()


def test_groups_come_from_json_or_a_file(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mapping = {
        "ops": {"roles": ["operator"], "teams": ["payments"]},
        "leads": [{"roles": ["reviewer"]}, {"workspace": "elsewhere", "roles": ["auditor"]}],
    }
    results = {
        "ops": (Access("default", ("operator",), ("payments",)),),
        "leads": (
            Access("default", ("reviewer",), ()),
            Access("elsewhere", ("auditor",), ()),
        ),
    }
    env.setenv("GATEPOST_GROUPS", json.dumps(mapping))
    assert sign_in.groups() == results
    env.delenv("GATEPOST_GROUPS")
    (path := tmp_path / "groups.json").write_text(json.dumps(mapping, indent=2))
    env.setenv("GATEPOST_GROUPS_FILE", str(path))
    assert sign_in.groups() == results
    env.setenv("GATEPOST_GROUPS", "{}")
    with pytest.raises(Misconfigured, match="both set"):
        sign_in.groups()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "not a JSON object"),
        ('{"ops": "operator"}', "ops: takes an object"),
        ('{"ops": {"role": ["operator"]}}', "does not know role"),
        ('{"ops": {"roles": ["king"]}}', "king is not a role"),
        ('{"ops": {"roles": "admin"}}', "roles is a list of names"),
        ('{"ops": {"teams": [1]}}', "teams is a list of names"),
        ('{"ops": {"workspace": 1}}', "workspace is the name"),
        ('{"a": {"teams": ["b"]}, "b": {"roles": ["admin"]}}', "team b is a group of its own"),
    ],
)
def test_a_mapping_that_is_wrong_names_the_group(
    env: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    env.setenv("GATEPOST_GROUPS", text)
    with pytest.raises(Misconfigured, match=problem):
        sign_in.groups()


@pytest.mark.slow
def test_the_base_install_never_imports_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import dashboard.asgi, dashboard.urls\n"
        "from django.core.handlers.wsgi import WSGIHandler\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('allauth', 'requests_oauthlib')])\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GATEPOST_OIDC")}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"GATEPOST_DATA": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip().splitlines()[-1] == "[]"
