"""`doctor --deploy`: each unsafe thing is named with what to do, and the exit code says so."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils.csp import CSP

from checkpoints.encryption.keys import new_key
from dashboard.operate.doctor import deployment, encryption, lag, reachable, unsafe
from dashboard.operate.doctor.findings import Finding, Seen
from tests.support.cast import Cast


@pytest.fixture
def seen(db: None) -> Seen:
    """Database and Valkey answer; others reach the installation."""
    seen = Seen(deploy=True)
    for look in (reachable.database, reachable.valkey, lag.migrations):
        list(look(seen))
    return seen


@pytest.fixture
def public(settings: Any, tmp_path: Path) -> Any:
    """Settings of an installation as docs/howto/deploy.md makes it."""
    tmp_path.chmod(0o700)
    settings.GATEPOST_DATA = tmp_path
    settings.DEBUG = False
    settings.HTTPS = settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.ALLOWED_HOSTS = ["gate.example", "localhost"]
    settings.GATEPOST_BASE_URL = "https://gate.example"
    settings.CSRF_TRUSTED_ORIGINS = []
    settings.GATEPOST_ENCRYPTION_KEYS = (new_key(),)
    for name in deployment.LIMITS:
        setattr(settings, name, getattr(settings, name) or 100)
    return settings


def levels(findings: Any) -> list[str]:
    return [f.level for f in findings]


def run(*arguments: str) -> tuple[int, dict[str, Finding]]:
    """The exit code and the findings that are no `ok`, by name."""
    out, code = io.StringIO(), 0
    try:
        call_command("doctor", "--deploy", "--json", *arguments, stdout=out, stderr=io.StringIO())
    except SystemExit as ended:
        code = int(ended.code or 0)
    findings = [Finding(**f) for f in json.loads(out.getvalue())["findings"]]
    return code, {f.name: f for f in findings if f.level in ("warning", "wrong", "note")}


def test_settings_of_a_public_installation_are_fine(public: Any, seen: Seen) -> None:
    looks = (
        *(deployment.public_names, deployment.hsts, deployment.cookies, deployment.page_policy),
        *(deployment.limits, deployment.passwords, deployment.valkey_login, deployment.reach),
        *(deployment.credentials, encryption.keys, encryption.stored),
        *(unsafe.debug, unsafe.hosts, unsafe.https, unsafe.secret_key, unsafe.data_folder),
    )
    findings = [finding for look in looks for finding in look(seen)]
    assert {f.level for f in findings} == {"ok"}, findings


@pytest.mark.parametrize(
    ("look", "change", "words"),
    [
        ("hsts", {"SECURE_HSTS_SECONDS": 0}, "off"),
        ("hsts", {"SECURE_HSTS_SECONDS": 3600}, "3600 s"),
        ("cookies", {"SESSION_COOKIE_SECURE": False}, "SESSION_COOKIE_SECURE"),
        ("cookies", {"CSRF_COOKIE_SECURE": False}, "CSRF_COOKIE_SECURE"),
        ("cookies", {"SESSION_COOKIE_HTTPONLY": False}, "SESSION_COOKIE_HTTPONLY"),
        ("cookies", {"SESSION_COOKIE_SAMESITE": "None"}, "SESSION_COOKIE_SAMESITE"),
        ("page_policy", {"SECURE_CSP": {}}, "default-src is not 'self'"),
        ("page_policy", {"MIDDLEWARE": []}, "no header is sent"),
        ("limits", {"GATEPOST_API_PER_ADDRESS": 0}, "GATEPOST_API_PER_ADDRESS"),
        ("limits", {"GATEPOST_LOGINS_PER_ACCOUNT": 0}, "GATEPOST_LOGINS_PER_ACCOUNT"),
        ("limits", {"GATEPOST_SOCKETS_PER_LOGIN": 0}, "GATEPOST_SOCKETS_PER_LOGIN"),
        ("public_names", {"GATEPOST_BASE_URL": "http://gate.example"}, "http://gate.example"),
        ("public_names", {"CSRF_TRUSTED_ORIGINS": ["http://a.example"]}, "http://a.example"),
        ("public_names", {"ALLOWED_HOSTS": ["localhost", "[::1]"]}, "only names of this machine"),
        ("public_names", {"ALLOWED_HOSTS": [".example"]}, "every name under .example"),
        ("valkey_login", {"REDIS_URL": "redis://localhost:6379/0"}, "none"),
        ("credentials", {"GATEPOST_CREDENTIALS": "off"}, "is stored"),
        ("reach", {"GATEPOST_TRUSTED_PROXIES": ["0.0.0.0/0"]}, "everybody may claim any address"),
        ("reach", {"GATEPOST_WEBHOOK_HTTP": True}, "without TLS"),
        ("reach", {"GATEPOST_WEBHOOK_PORTS": [0]}, "any port"),
    ],
)
def test_each_unsafe_setting_is_named(
    public: Any, look: str, change: dict[str, Any], words: str
) -> None:
    for name, value in change.items():
        setattr(public, name, value)
    bad = [f for f in getattr(deployment, look)(Seen(deploy=True)) if f.level != "ok"]
    assert any(words in f.value for f in bad), bad
    assert all(f.do.endswith(".") and len(f.do.splitlines()) == 1 for f in bad)


@pytest.mark.parametrize("directive", ["script-src", "style-src"])
@pytest.mark.parametrize("source", [CSP.UNSAFE_INLINE, CSP.UNSAFE_EVAL, "*", "https:"])
def test_a_loose_page_policy_is_named(public: Any, directive: str, source: str) -> None:
    public.SECURE_CSP = public.SECURE_CSP | {directive: [CSP.SELF, source]}
    (result,) = deployment.page_policy(Seen(deploy=True))
    assert (result.level, f"{directive} has {source}" in result.value) == ("wrong", True)


def test_a_page_policy_whose_violations_nobody_hears_of(public: Any) -> None:
    public.SECURE_CSP = {k: v for k, v in public.SECURE_CSP.items() if k != "report-uri"}
    (result,) = deployment.page_policy(Seen(deploy=True))
    assert result.level == "warning"


def test_passwords_that_are_tried_first(public: Any, seen: Seen) -> None:
    people = get_user_model().objects
    people.create_superuser("chief", email="c@gate.example", password="changeme")
    people.create_superuser("careful", email="d@gate.example", password="9b1f-not-guessed")
    (result,) = deployment.passwords(seen)
    assert result.level == "wrong"
    assert result.value == "easy to guess: chief"


def test_passwords_of_the_demo_that_still_work(public: Any, seen: Seen) -> None:
    """Also where somebody gave the demo's people another address."""
    people = get_user_model().objects
    user = people.create_user("operator", email="o@gate.example", password="Xy7-from-the-demo")
    unsafe.demo_file(seen).write_text("operator  Xy7-from-the-demo\nadmin  elsewhere\n")
    (result,) = deployment.passwords(seen)
    assert (result.level, "operator" in result.value) == ("wrong", True)
    user.set_password("another-one-now")
    user.save()
    assert levels(deployment.passwords(seen)) == ["ok"]


def test_the_one_role_of_the_embedded_server_is_not_fit_for_others(seen: Seen) -> None:
    (result,) = unsafe.role(seen)
    assert (result.level, "GATEPOST_MIGRATE_DATABASE_URL" in result.do) == ("wrong", True)


def test_the_command_exits_1_and_names_everything(cast: Cast) -> None:
    """The test's own installation: no TLS, limits off, one database role, no fsync."""
    code, bad = run()
    assert code == 1
    assert {"HTTPS", "HSTS", "cookies", "limits", "database role", "fsync", "links"} <= set(bad)
    assert all(f.do for f in bad.values() if f.level != "note")
    assert {f.part for f in bad.values()} <= {"reachable", "installed", "unsafe", "behind"}


def test_what_is_accepted_is_shown_and_what_is_wrong_stays_wrong(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_WEBHOOK_HTTP = True
    assert run()[1]["webhooks"].level == "warning"
    _, bad = run("--accept", "webhooks", "--accept", "HSTS", "--accept", "long mended")
    assert (bad["webhooks"].level, bad["HSTS"].level) == ("note", "wrong")
    assert bad["webhooks"].value.endswith("(accepted)")
    with pytest.raises(SystemExit):
        call_command("doctor", "--accept", "HSTS", stdout=io.StringIO(), stderr=io.StringIO())
