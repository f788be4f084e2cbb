"""Addresses and secrets: every form reaches the library that needs it, no mistake shows one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.configuration import valkey
from dashboard.configuration.database import NETWORK, address, database, runtime_role
from dashboard.configuration.sources import Misconfigured, value
from dashboard.wire import valkey as clients
from tests.faults.embedded.helpers import ROOT, clean_environment

EMBEDDED = {"HOST": "/run/here", "NAME": "gatepost", "USER": "gatepost"}
SECRET = "hush-hush"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the variables of this test run."""
    owner = "GATEPOST_MIGRATE_DATABASE_URL"
    valkeys = ("REDIS_URL", "REDIS_PASSWORD", "GATEPOST_HOT_URL", "GATEPOST_HOT_PASSWORD")
    for name in ("DATABASE_URL", "DATABASE_PASSWORD", owner, *valkeys):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.mark.requirement("A09")
def test_hosts_tls_and_failover_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DATABASE_URL",
        "postgresql://me:p%40ss%2Fword@one:5432,two:5433/gatepost"
        "?target_session_attrs=read-write&sslmode=verify-full&sslrootcert=/etc/ca.pem"
        "&connect_timeout=2&options=-c%20search_path%3Dmine",
    )
    result = database("web", embedded=EMBEDDED, pool=7)
    assert (result["HOST"], result["PORT"]) == ("one,two", "5432,5433")
    assert (result["USER"], result["PASSWORD"], result["NAME"]) == ("me", "p@ss/word", "gatepost")
    options = result["OPTIONS"]
    assert options["target_session_attrs"] == "read-write"
    assert (options["sslmode"], options["sslrootcert"]) == ("verify-full", "/etc/ca.pem")
    assert options["connect_timeout"] == "2"
    assert options["keepalives_idle"] == NETWORK["keepalives_idle"]
    assert options["options"].startswith("-c lock_timeout=3s ")
    assert options["options"].endswith(" -c search_path=mine")
    assert options["pool"]["max_size"] == 7


def test_statements_are_prepared_unless_somebody_stands_between() -> None:
    for role in ("web", "worker", ""):
        here = database(role, embedded=EMBEDDED, pool=7)
        assert here["OPTIONS"]["prepare_threshold"] == 3
        bounced = database(role, embedded=EMBEDDED, pool=7, prepare=False)
        assert bounced["OPTIONS"]["prepare_threshold"] is None
        assert bounced["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_without_an_address_the_embedded_server_is_used() -> None:
    result = database("worker", embedded=EMBEDDED, pool=7)
    assert (result["HOST"], result["USER"]) == ("/run/here", "gatepost")
    assert "pool" not in result["OPTIONS"]
    assert "plan_cache_mode=force_generic_plan" in result["OPTIONS"]["options"]
    assert EMBEDDED == {"HOST": "/run/here", "NAME": "gatepost", "USER": "gatepost"}


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (f"mysql://me:{SECRET}@host/db", "is not an address of PostgreSQL"),
        (f"me:{SECRET}@host/db", "is not an address of PostgreSQL"),
        (f"postgresql://me:{SECRET}/x@host/db", "special characters"),
        (f"postgresql://me:12/{SECRET}@host/db", "special characters"),
        (f"postgresql://me:{SECRET}%zz@host/db", "special characters"),
        (f"postgresql://me:{SECRET}@host:port/db", "special characters"),
        (f"postgresql://me:{SECRET}@host:70000/db", "a port that isn't a number"),
        (f"postgresql://me:{SECRET}@[::1/db", "special characters"),
        (f"postgresql://me:{SECRET}@host", "names no database"),
        (f"postgresql://me:{SECRET}@one:1,two:2,three/db?port=1,2", "number of ports"),
        (f"postgresql://me:{SECRET}@host/db?sslmod=verify-full", "unknown option 'sslmod'"),
    ],
)
def test_a_wrong_address_is_one_line_without_the_secret(
    monkeypatch: pytest.MonkeyPatch, url: str, text: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(Misconfigured) as caught:
        address("DATABASE_URL")
    line = str(caught.value)
    assert text in line
    assert line.startswith("gatepost: DATABASE_URL ")
    assert SECRET not in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (f"http://me:{SECRET}@host/0", "is not an address of Valkey"),
        (f"redis://me:{SECRET}/x@host/0", "special characters"),
        (f"redis://me:{SECRET}#x@host/0", "special characters"),
        (f"redis://me:{SECRET}@host:port/0", "special characters"),
        (f"redis://me:{SECRET}@host/db", "special characters"),
        (f"redis://me:{SECRET}@/0", "special characters"),
        (f"redis://me:{SECRET}@one,two/0", "lists several servers"),
        (f"redis://me:{SECRET}@host/0?ssl_ca_certs=/ca", "unknown option 'ssl_ca_certs'"),
        (f"rediss://me:{SECRET}@host/0?tls", "special characters"),
        (f"sentinel://:{SECRET}@one,two", "names no master"),
        ("unix://", "names no socket"),
    ],
)
def test_so_is_a_wrong_address_of_valkey(url: str, text: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        valkey.parse(url)
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.slow
def test_every_program_ends_with_that_line_alone() -> None:
    messages = []
    for command in (
        ["manage.py", "check"],
        ["manage.py", "up", "--data-dir", "/nowhere"],
        ["-m", "workers"],
        ["-m", "uvicorn", "dashboard.asgi:application"],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            env=clean_environment() | {"DATABASE_URL": f"postgresql://me:{SECRET}/x@host/db"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1
        messages.append((done.stdout + done.stderr).strip().splitlines())
    assert all(len(lines) == 1 and "DATABASE_URL" in lines[0] for lines in messages), messages


def test_secrets_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me@host/db")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(file))
    assert address("DATABASE_URL")["password"] == SECRET
    monkeypatch.setenv("GATEPOST_SECRET_KEY_FILE", str(file))
    monkeypatch.delenv("GATEPOST_SECRET_KEY", raising=False)
    assert value("GATEPOST_SECRET_KEY") == SECRET

    monkeypatch.setenv("DATABASE_URL", "postgresql://me:other@host/db")
    with pytest.raises(Misconfigured, match="keep one"):
        address("DATABASE_URL")
    monkeypatch.setenv("GATEPOST_SECRET_KEY", "another")
    with pytest.raises(Misconfigured, match="both set"):
        value("GATEPOST_SECRET_KEY")
    monkeypatch.delenv("GATEPOST_SECRET_KEY")
    for bad in (b"", b"\n", b"two\nlines\n", b"\xff\xfe", b"x" * 100_000):
        file.write_bytes(bad)
        with pytest.raises(Misconfigured, match="GATEPOST_SECRET_KEY_FILE"):
            value("GATEPOST_SECRET_KEY")
    file.unlink()
    with pytest.raises(Misconfigured, match="No such file"):
        value("GATEPOST_SECRET_KEY")


def test_migrations_have_a_login_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://worker:w@host/db")
    monkeypatch.setenv("GATEPOST_MIGRATE_DATABASE_URL", "postgresql://owner:o@host/db")
    assert database("migrate", embedded=EMBEDDED, pool=1)["USER"] == "owner"
    assert runtime_role("migrate") == {"name": "worker", "password": "w"}
    for role in ("web", "worker", ""):
        assert database(role, embedded=EMBEDDED, pool=1)["USER"] == "worker"
        assert runtime_role(role) is None
    monkeypatch.setenv("GATEPOST_MIGRATE_DATABASE_URL", "postgresql://worker:w@host/db")
    assert runtime_role("migrate") is None
    monkeypatch.delenv("DATABASE_URL")
    with pytest.raises(Misconfigured, match="is needed beside"):
        database("migrate", embedded=EMBEDDED, pool=1)


def test_each_library_gets_its_spelling_of_one_address() -> None:
    secure = valkey.parse("rediss://me:p%40ss@host/3?ssl_ca_certs=/etc/ca.pem")
    celery = secure.celery()
    assert celery["BROKER_URL"] == "redis://me:p%40ss@host:6379/3"
    assert celery["BROKER_USE_SSL"] == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/etc/ca.pem"}
    assert secure.url() == "rediss://me:p%40ss@host:6379/3?ssl_ca_certs=/etc/ca.pem"
    assert "p@ss" not in repr(secure)

    many = valkey.parse("sentinel://:pw@one,two:26380,[::1]:5/main/2")
    assert many.celery()["BROKER_URL"] == (
        "sentinel://:pw@one:26379/2;sentinel://:pw@two:26380/2;sentinel://:pw@[::1]:5/2"
    )
    assert many.celery()["BROKER_TRANSPORT_OPTIONS"]["master_name"] == "main"
    assert list(many.hosts) == [("one", 26379), ("two", 26380), ("::1", 5)]

    socket = valkey.parse("unix:///run/a%20b/valkey.sock")
    assert socket.celery()["BROKER_URL"].startswith("redis+socket:///run/a b/valkey.sock")
    saved = clients.client("unix:///run/valkey.sock?db=4").connection_pool.connection_kwargs
    assert (saved["path"], saved["db"]) == ("/run/valkey.sock", 4)


URLS = [
    ("redis://host:6379/0", ""),
    ("redis://me@host:6379/0", "me"),
    ("redis://me:@host:6379/0", "me"),
    ("unix:///run/valkey.sock?db=2", ""),
]


@pytest.mark.parametrize(
    ("url", "user", "name", "configured"),
    [
        ("sentinel://s1:26379,s2/main/0", "", "REDIS", valkey.configured),
        *((*one, "REDIS", valkey.configured) for one in URLS),
        *((*one, "GATEPOST_HOT", valkey.configured_hot_store) for one in URLS),
    ],
)
def test_a_password_of_valkey_that_comes_by_itself(
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    user: str,
    name: str,
    configured: Callable[[str], str],
) -> None:
    monkeypatch.setenv(f"{name}_URL", url)
    assert configured("/run/here") == url
    monkeypatch.setenv(f"{name}_PASSWORD", "v@lkey/p:ss?")
    address, plain = valkey.parse(configured("/run/here")), valkey.parse(url)
    assert (address.username, address.password) == (user, "v@lkey/p:ss?")
    assert (address.hosts, address.path, address.number) == (plain.hosts, plain.path, plain.number)
    monkeypatch.setenv(f"{name}_URL", "redis://:other@host/0")
    with pytest.raises(Misconfigured, match=f"{name}_PASSWORD.*{name}_URL.*as well"):
        configured("/run/here")
    monkeypatch.setenv(f"{name}_URL", "postgresql://secret@host/0")
    with pytest.raises(Misconfigured, match=f"{name}_URL") as refused:
        configured("/run/here")
    assert "secret" not in str(refused.value)
    monkeypatch.delenv(f"{name}_URL")
    assert configured("/run/here") == "unix:///run/here"


@pytest.mark.parametrize(
    ("url", "broker", "reason"),
    [
        ("sentinel://s1,s2/main/0", "", "lacks the last appends"),
        ("redis://one:6379/1", "redis://:secret@one/0", "full, it would stop the broker"),
        ("rediss://one/", "redis://one:6379/0", "full, it would stop the broker"),
        ("unix:///run/v.sock?db=2", "unix:///run/v.sock", "full, it would stop the broker"),
        ("redis://one:6380/0", "redis://one:6379/0", ""),
        ("unix:///run/hot.sock", "redis://one:6379/0", ""),
    ],
)
def test_a_hot_store_that_could_not_keep_its_promise_is_refused(
    monkeypatch: pytest.MonkeyPatch, url: str, broker: str, reason: str
) -> None:
    monkeypatch.setenv("GATEPOST_HOT_URL", url)
    monkeypatch.setenv("REDIS_URL", broker)
    if not reason:
        assert valkey.configured_hot_store("/run/here") == url
        return
    with pytest.raises(Misconfigured, match=reason) as refused:
        valkey.configured_hot_store("/run/here")
    assert "secret" not in str(refused.value)


def test_no_process_but_a_migration_waits_for_an_answer_without_bound() -> None:
    from dashboard.configuration.bounded import BoundedConnection
    from dashboard.configuration.postgresql.base import DatabaseWrapper

    for role in ("worker", ""):
        assert (
            database(role, embedded=EMBEDDED, pool=1)["ENGINE"] == DatabaseWrapper.__module__[:-5]
        )
    assert DatabaseWrapper.Database.connect.__self__ is BoundedConnection
    web = database("web", embedded=EMBEDDED, pool=1)
    assert web["OPTIONS"]["pool"]["connection_class"] is BoundedConnection


@pytest.mark.slow
def test_a_start_looks_for_little_garbage() -> None:
    code = (
        "import gc, dashboard, django\ndjango.setup()\n"
        "print(sum(one['collections'] for one in gc.get_stats()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean_environment()
        | {"GATEPOST_DATA": "/tmp/gp-none", "DJANGO_SETTINGS_MODULE": "dashboard.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) <= 10
