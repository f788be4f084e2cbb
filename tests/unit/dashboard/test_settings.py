"""What every installation has: closed by default, a strict page policy, time-outs, silent logs."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
from django.conf import settings
from django.db import connection
from django.test import Client

from dashboard.configuration.logs import MASK, logging_config, masked
from dashboard.configuration.secret_key import secret_key
from tests.faults.embedded.helpers import ROOT
from tests.support.logs import logged_by


def test_no_page_may_load_or_do_what_is_not_ours(db: None) -> None:
    answer = Client().get("/healthz")
    assert answer.headers["Content-Security-Policy"] == (
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; report-uri /page-policy/violations/"
    )


def test_a_stranger_sees_the_login_page_only(db: None) -> None:
    answer = Client().get("/admin/auth/user/")
    assert answer.status_code == 302
    assert "/login/" in answer.headers["Location"]


def session_values(role: str) -> dict[str, str]:
    """What PostgreSQL says about a connection of a process with this role."""
    names = ["lock_timeout", "idle_in_transaction_session_timeout", "statement_timeout", "TimeZone"]
    names.append("application_name")
    code = (
        "import django; django.setup()\n"
        "from django.db import connection\n"
        "cursor = connection.cursor()\n"
        f"for name in {names}:\n"
        "    cursor.execute('SELECT current_setting(%s)', [name]); print(cursor.fetchone()[0])\n"
        "connection.close()\n"
        "if connection.settings_dict['OPTIONS'].get('pool'): connection.close_pool()\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"GATEPOST_ROLE": role, "DJANGO_SETTINGS_MODULE": "dashboard.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(names, answer.stdout.split(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("role", ["web", "worker"])
def test_connections_that_people_wait_for_have_time_outs(real_db: str, role: str) -> None:
    assert session_values(role) == {
        "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "5s",
        "statement_timeout": "30s",
        "TimeZone": "UTC",
        "application_name": f"gatepost-{role}",
    }


def test_statements_are_prepared_on_the_server(real_db: str) -> None:
    with connection.cursor() as cursor:
        for number in range(5):
            cursor.execute("SELECT %s + 1", [number])
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone()[0] >= 1


def test_the_secret_key_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    first = secret_key(tmp_path / "data")
    assert secret_key(tmp_path / "data") == first
    assert len(first) > 50
    assert stat.S_IMODE((tmp_path / "data" / "secret-key").stat().st_mode) == 0o600
    assert [entry.name for entry in (tmp_path / "data").iterdir()] == ["secret-key"]


def test_only_json_travels_and_nothing_is_kept_in_the_broker() -> None:
    assert settings.CELERY_TASK_SERIALIZER == "json"
    assert settings.CELERY_ACCEPT_CONTENT == ["json"]
    assert settings.CELERY_RESULT_BACKEND is None
    assert settings.CELERY_TASK_IGNORE_RESULT
    assert not settings.CELERY_TASK_ACKS_LATE
    assert settings.CELERY_WORKER_PREFETCH_MULTIPLIER == 1


def test_secrets_are_masked_wherever_they_stand() -> None:
    assert masked(
        {
            "password": "hush",
            "deep": [{"api_key": "hush", "tokens": 12}, ("postgres://me:hush@host/db",)],
            "path": "/welcome/?sesame=hush-hush&next=/",
            "header": "Bearer hush.hush",
        }
    ) == {
        "password": MASK,
        "deep": [{"api_key": MASK, "tokens": 12}, (f"postgres://{MASK}@host/db",)],
        "path": f"/welcome/?sesame={MASK}&next=/",
        "header": f"Bearer {MASK}",
    }


@pytest.mark.parametrize("form", ["console", "json"])
def test_no_log_line_shows_a_secret(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    with logged_by(logging_config(level="INFO", form=form)):
        structlog.get_logger("gatepost").info("signed in", token="hush", user="operator")
        logging.getLogger("elsewhere").warning("calling %s", "redis://me:hush@host/0")
        try:
            raise ValueError("postgres://me:hush@host/db")
        except ValueError:
            logging.getLogger("elsewhere").exception("lost")
    written = capfd.readouterr()
    assert written.out == ""
    assert "hush" not in written.err
    assert written.err.count(MASK) >= 3
    assert "operator" in written.err
    assert "Traceback" in written.err
