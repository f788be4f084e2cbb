"""`migrate` takes over a database of the tree before, or refuses it and says the way."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from pytest_django import DjangoDbBlocker

from approvals import queries as approval_queries
from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.identity.permissions import Actor, actor_of
from dashboard.operate import health, migration_history
from dashboard.operate.doctor import lag
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.embedded.process.folders import EmbeddedError
from dashboard.operate.embedded.start import _migrate
from dashboard.threads.fork import fork as fork_thread
from tests.conftest import real_database
from tests.support import decisions
from tests.unit.checkpoints.builders import rows

from .catalog import Catalog, differences, read_catalog

DUMP = Path(__file__).with_name("former_database.sql.gz")
ROLE = "gatepost_runtime_of_former"
FORMER = {"checkpoints": 56, "approvals": 30, "dashboard": 12}


@pytest.fixture
def migrating(settings: Any) -> None:
    settings.ROLE = "migrate"
    settings.GATEPOST_RUNTIME_ROLE = {"name": ROLE, "password": ""}


@pytest.fixture
def former_db(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, migrating: None
) -> Iterator[None]:
    """The dump in a database of its own; the role that `migrate` makes goes with it."""
    with django_db_blocker.unblock(), real_database("gatepost_former", template="template0"):
        with connection.cursor() as cursor:
            cursor.execute(gzip.decompress(DUMP.read_bytes()).decode())
        yield
        drop_role()


def drop_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE])
        if cursor.fetchone():
            cursor.execute(f"DROP OWNED BY {ROLE}")
            cursor.execute(f"DROP ROLE {ROLE}")


def fresh_catalog() -> Catalog:
    """The schema of a database that never saw the former migrations."""
    with real_database("gatepost_fresh", template="template0"):
        migrate()
        described = read_catalog()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP OWNED BY {ROLE}")
    return described


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False, skip_checks=True)


def replaced(app: str) -> list[str]:
    """The former migrations in whose place the schema of an app stands."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return [name for _, name in loader.disk_migrations[app, "0001_schema"].replaces]


def person(name: str) -> Actor:
    return actor_of(get_user_model()._default_manager.get(username=name))


def thread_row(thread: UUID) -> ThreadRow:
    return queries.thread(thread, workspace=queries.default_workspace())


def intact(*threads: UUID) -> bool:
    return all(verify(thread).intact for thread in threads)


@pytest.mark.slow
def test_the_taken_over_schema_is_that_of_a_new_database(former_db: None) -> None:
    migrate()
    after = read_catalog()
    assert differences(after, fresh_catalog()) == {}
    assert len(after["triggers"]) >= 33
    assert len(after["functions"]) >= 10
    assert {row[2] for row in after["privileges"]} >= {ROLE}


@pytest.mark.slow
def test_its_threads_are_whole_and_go_on(former_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate()
    monkeypatch.setattr(health, "_migrated", False)
    assert health.migrated()
    assert [finding.level for finding in lag.migrations(Seen())] == ["ok"]
    call_command("verify")

    threads = {
        status: thread for thread, status in rows("SELECT id, status FROM gp_thread ORDER BY id")
    }
    assert set(threads) == {"succeeded", "waiting", "cancelled"}
    done = threads["succeeded"]
    base = queries.checkpoint_by_number(done, 1).id
    fork = fork_thread(person("operator"), done, base)
    assert thread_row(fork).forked_from == base
    assert queries.state_at(fork, thread_row(fork).head)["lines"] == ["pens pens"]

    (row,) = approval_queries.for_thread(threads["waiting"], open_only=True)
    assert row.policy_version.endswith("@1")
    decided = decisions.decide(person("manager"), row.id, "approve", row.standing_hash)
    assert decided.status == "settled"
    assert thread_row(threads["waiting"]).status is Status.QUEUED
    assert intact(fork, *threads.values())


@pytest.mark.slow
def test_one_that_lacks_former_migrations_is_refused(
    former_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_migrated", False)
    before = read_catalog()
    refused = 0
    for app, count in FORMER.items():
        names = replaced(app)
        own = {name for (name,) in rows("SELECT name FROM django_migrations WHERE app = %s", [app])}
        assert {*names} == own - {"0001_schema"}
        assert len(names) == count
        # Where the schema's own name is on record, it alone is not enough.
        everything = [names] if "0001_schema" in own else []
        for absent in (names[:1], names[-1:], names[4:9], names[1:], *everything):
            rows(
                "DELETE FROM django_migrations WHERE app = %s AND name = ANY(%s) RETURNING 1",
                [app, absent],
            )
            for call, error in ((migrate, CommandError), (_migrate, EmbeddedError)):
                with pytest.raises(error) as caught:
                    call()
                assert f"{app}.{absent[0]}" in str(caught.value)
                assert migration_history.LAST_FORMER_COMMIT in str(caught.value)
            assert not health.migrated()
            (finding,) = lag.migrations(Seen())
            assert (finding.level, absent[0] in finding.value) == ("wrong", True)
            rows(
                "INSERT INTO django_migrations (app, name, applied) "
                "SELECT %s, unnest(%s::text[]), now() RETURNING 1",
                [app, absent],
            )
            refused += 1
    assert refused == 14
    assert read_catalog() == before
    migrate()


def test_a_new_database_has_every_name_on_record(db: None) -> None:
    """Code of the release before finds nothing missing when it is started again."""
    applied = set(rows("SELECT app, name FROM django_migrations"))
    for app, count in FORMER.items():
        names = replaced(app)
        assert len(names) == count
        assert {(app, name) for name in (*names, "0001_schema")} <= applied
