"""The runtime role: enough for the product, nothing against the logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from checkpoints.postgres import roles

ROLE = "gatepost_runtime_test"
LOGS = (
    "gp_agent_announcement",
    "gp_agent_version",
    "gp_checkpoint",
    "gp_decision",
    "gp_event",
    "gp_workspace_event",
)


@contextmanager
def as_role(role: str) -> Iterator[psycopg.Connection]:
    """A connection with the rights of `role` and no more."""
    at = connection.settings_dict
    address = f"host='{at['HOST']}' dbname={at['NAME']} user={at['USER']}"
    with psycopg.connect(address, autocommit=True) as opened:
        opened.execute(f"SET SESSION AUTHORIZATION {role}")
        yield opened


@pytest.fixture
def granted(real_db: str) -> Iterator[str]:
    roles.grant(ROLE, password="hush-hush")
    yield real_db
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {ROLE}")
        cursor.execute(f"DROP ROLE {ROLE}")


REFUSED = (
    "UPDATE {t} SET {c} = {c}",
    "DELETE FROM {t}",
    "TRUNCATE {t}",
    "TRUNCATE {t} CASCADE",
    "ALTER TABLE {t} DISABLE TRIGGER ALL",
    "ALTER TABLE {t} DISABLE TRIGGER USER",
    "DROP TABLE {t}",
    "ALTER TABLE {t} RENAME TO gone",
    "CREATE TRIGGER mine BEFORE INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION gp_refuse()",
    "CREATE RULE mine AS ON INSERT TO {t} DO INSTEAD NOTHING",
)


def test_logs_can_be_read_and_grow_and_nothing_else(granted: str) -> None:
    refused = 0
    with as_role(ROLE) as role:
        for table in roles.logs():
            columns = role.execute(f"SELECT * FROM {table} LIMIT 0").description
            assert columns is not None
            for statement in REFUSED:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    role.execute(statement.format(t=table, c=columns[0].name))
                refused += 1
            allowed = role.execute(
                "SELECT has_table_privilege(%s, 'SELECT'), has_table_privilege(%s, 'INSERT'), "
                "has_table_privilege(%s, 'UPDATE, DELETE, TRUNCATE, TRIGGER')",
                [table] * 3,
            ).fetchone()
            assert allowed == (True, True, False)
    assert refused >= len(LOGS) * len(REFUSED)


def test_guards_cannot_be_switched_off(granted: str) -> None:
    with as_role(ROLE) as role:
        for statement in (
            "SET session_replication_role = replica",
            "CREATE OR REPLACE FUNCTION gp_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NEW; END $$",
            "DROP FUNCTION gp_refuse CASCADE",
            "CREATE TABLE mine (id integer)",
            "UPDATE django_migrations SET name = name",
            "DELETE FROM gp_thread",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                role.execute(statement)


def test_every_table_is_covered_by_its_own_guards(granted: str) -> None:
    result = roles.rights()
    assert set(LOGS) <= set(roles.logs())
    assert result["gp_thread"] == result["gp_approval"] == roles.CHANGE
    assert result["gp_worker"] == result["django_session"] == roles.ALL
    assert result["django_migrations"] == roles.READ


def test_later_tables_and_older_grants_follow_at_the_next_migration(granted: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE later (id integer)")
        cursor.execute(
            "CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON later "
            "FOR EACH ROW EXECUTE FUNCTION gp_refuse()"
        )
        cursor.execute("CREATE TABLE plain (id integer)")
        cursor.execute(f"GRANT UPDATE, TRUNCATE ON gp_event TO {ROLE}")
    assert roles.excess(ROLE) == [
        f"The role {ROLE} has UPDATE on gp_event.",
        f"The role {ROLE} has TRUNCATE on gp_event.",
    ]
    with as_role(ROLE) as role:  # already readable and writable before the grants are renewed
        role.execute("INSERT INTO plain VALUES (1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            role.execute("UPDATE plain SET id = 2")
    roles.grant(ROLE)
    assert roles.excess(ROLE) == []
    assert (roles.rights()["later"], roles.rights()["plain"]) == (roles.ADD, roles.ALL)
    with as_role(ROLE) as role:
        role.execute("UPDATE plain SET id = 2")
        role.execute("INSERT INTO later VALUES (1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            role.execute("UPDATE later SET id = 2")


def test_too_powerful_roles_are_named(granted: str) -> None:
    assert "superuser" in roles.excess()[0]
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE gatepost_owner_test")
        cursor.execute("ALTER TABLE gp_event OWNER TO gatepost_owner_test")
        cursor.execute(f"GRANT gatepost_owner_test TO {ROLE}")
    try:
        assert roles.excess(ROLE) == [f"The role {ROLE} owns gp_event: it can drop guards."]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"REVOKE gatepost_owner_test FROM {ROLE}")
            cursor.execute("REASSIGN OWNED BY gatepost_owner_test TO CURRENT_USER")
            cursor.execute("DROP ROLE gatepost_owner_test")


@pytest.mark.parametrize(
    ("give", "take", "text"),
    [
        (
            "ALTER FUNCTION gp_refuse() OWNER TO {r}",
            "ALTER FUNCTION gp_refuse() OWNER TO CURRENT_USER",
            "owns gp_refuse: it can empty the guards.",
        ),
        (
            "ALTER SCHEMA public OWNER TO {r}",
            "ALTER SCHEMA public OWNER TO pg_database_owner",
            "owns the schema: it can drop tables and guards.",
        ),
        (
            "CREATE ROLE gatepost_super_test SUPERUSER; GRANT gatepost_super_test TO {r}",
            "DROP ROLE gatepost_super_test",
            "is a member of gatepost_super_test, a superuser: it can switch every guard off.",
        ),
    ],
    ids=["function", "schema", "superuser"],
)
def test_roundabout_ways_past_the_guards_are_named(
    granted: str, give: str, take: str, text: str
) -> None:
    assert roles.excess(ROLE) == []
    with connection.cursor() as cursor:
        try:
            for statement in give.format(r=ROLE).split("; "):
                cursor.execute(statement)
            assert f"The role {ROLE} {text}" in roles.excess(ROLE)
        finally:
            cursor.execute(take)
    assert roles.excess(ROLE) == []


def test_an_owner_who_may_not_create_roles_hears_it(real_db: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE gatepost_plain_test")
        cursor.execute("SET SESSION AUTHORIZATION gatepost_plain_test")
        try:
            with pytest.raises(roles.RoleMissing):
                roles.grant("gatepost_nobody_test", password="hush-hush")
        finally:
            cursor.execute("RESET SESSION AUTHORIZATION")
            cursor.execute("DROP ROLE gatepost_plain_test")


def test_the_password_travels_as_its_verifier(granted: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", [ROLE])
        (row,) = cursor.fetchone()
    assert row.startswith("SCRAM-SHA-256$")
