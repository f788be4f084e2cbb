"""Two roles of the database: the owner migrates, the runtime role works and cannot change a log.

What a table allows is read from its own guards: where `gp_refuse` refuses updates the runtime role
may read and add, where it refuses only deletions also update. So a later table needs no entry here.
"""

from __future__ import annotations

from typing import Any, cast

from django.db import ProgrammingError, connection, transaction
from psycopg import sql

READ = ("SELECT",)
ADD = (*READ, "INSERT")
CHANGE = (*ADD, "UPDATE")
ALL = (*CHANGE, "DELETE")
NEVER = ("TRUNCATE", "REFERENCES", "TRIGGER")
ROW_UPDATE, ROW_DELETE = 16, 8  # bits of pg_trigger.tgtype

TABLES = f"""
SELECT c.relname, c.relname = 'django_migrations',
  coalesce(bool_or(t.tgtype & {ROW_UPDATE} > 0), false),
  coalesce(bool_or(t.tgtype & {ROW_DELETE} > 0), false)
FROM pg_class c LEFT JOIN (pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
  AND p.proname = 'gp_refuse') ON t.tgrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
GROUP BY c.relname ORDER BY c.relname
"""

# Functions that work with their owner's rights: erasure, which may blank what an approval names.
PRIVILEGED = """
SELECT p.oid::regprocedure::text FROM pg_proc p
WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef ORDER BY 1
"""


class RoleMissing(Exception):
    """The runtime role is not there, and this owner may not create roles."""


def rights() -> dict[str, tuple[str, ...]]:
    """{table: what the runtime role may do with its rows} as the guards of each table say."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        return {
            table: READ if only_read else ADD if log else CHANGE if saved else ALL
            for table, only_read, log, saved in cursor.fetchall()
        }


def logs() -> list[str]:
    """The tables that only grow."""
    return [table for table, allowed in rights().items() if allowed == ADD]


def grant(role: str, *, password: str = "") -> None:
    """Give `role` exactly what the product needs, whatever it had before; creates it if needed.

    Work of the owner. The password of a role that exists is left alone. Raises RoleMissing.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # Two concurrent migrations would change the same catalogue rows.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('gatepost.roles'))")
        cursor.execute("SELECT current_schema(), current_database()")
        schema, database = cursor.fetchone()
        _create(cursor, role, password)
        names = {
            "role": sql.Identifier(role),
            "schema": sql.Identifier(schema),
            "database": sql.Identifier(database),
        }
        for statement in (
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
            # Between a table's creation and the end of its migration: enough to work, not to spoil.
            "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT ON TABLES TO {role}",
            "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role}",
        ):
            cursor.execute(_text(cursor, sql.SQL(statement).format(**names)))
        cursor.execute(
            "SELECT has_database_privilege(%s::name, current_database(), 'CONNECT')", [role]
        )
        if not cursor.fetchone()[0]:
            line = sql.SQL("GRANT CONNECT ON DATABASE {database} TO {role}").format(**names)
            cursor.execute(_text(cursor, line))
        for table, allowed in rights().items():
            # The words are constants of this module.
            line = sql.SQL("GRANT {} ON TABLE {}.{} TO {}").format(
                sql.SQL(cast(Any, ", ".join(allowed))),
                names["schema"],
                sql.Identifier(table),
                names["role"],
            )
            cursor.execute(_text(cursor, line))
        cursor.execute(PRIVILEGED)
        for (function,) in cursor.fetchall():
            # As PostgreSQL itself writes and quotes it.
            line = sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(
                sql.SQL(cast(Any, function)), names["role"]
            )
            cursor.execute(_text(cursor, line))


def excess(role: str = "") -> list[str]:
    """List what `role` (default: this connection's) may do to logs beyond reading and adding.

    Empty is safe; otherwise one sentence each, for `doctor`.
    """
    results: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.rolname, r.rolsuper, has_parameter_privilege(r.rolname, "
            "'session_replication_role', 'SET') FROM pg_roles r "
            "WHERE r.rolname = coalesce(nullif(%s::text, ''), current_user)",
            [role],
        )
        name, superuser, replica = cursor.fetchone()
        if superuser:
            return [f"The role {name} is a superuser: it can switch every guard off."]
        if replica:
            results.append(
                f"The role {name} may set session_replication_role: triggers stay silent."
            )
        cursor.execute(
            "SELECT rolname FROM pg_roles WHERE rolsuper AND pg_has_role(%s::name, oid, 'MEMBER') "
            "ORDER BY 1",
            [name],
        )
        results += [
            f"The role {name} is a member of {above}, a superuser: it can switch every guard off."
            for (above,) in cursor.fetchall()
        ]
        cursor.execute(
            "SELECT pg_has_role(%s::name, n.nspowner, 'MEMBER'), EXISTS (SELECT 1 FROM pg_proc p "
            "WHERE p.pronamespace = n.oid AND p.proname = 'gp_refuse' "
            "AND pg_has_role(%s::name, p.proowner, 'MEMBER')) "
            "FROM pg_namespace n WHERE n.oid = current_schema()::regnamespace",
            [name, name],
        )
        schema, refusal = cursor.fetchone()
        if schema:
            results.append(f"The role {name} owns the schema: it can drop tables and guards.")
        if refusal:
            results.append(f"The role {name} owns gp_refuse: it can empty the guards.")
        guarded = logs()
        cursor.execute(
            "SELECT c.relname, pg_has_role(%s::name, c.relowner, 'MEMBER') FROM pg_class c "
            "WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s::text[])",
            [name, guarded],
        )
        owned = [table for table, mine in cursor.fetchall() if mine]
        if owned:
            results.append(f"The role {name} owns {', '.join(sorted(owned))}: it can drop guards.")
        for word in ("UPDATE", "DELETE", "TRUNCATE", "TRIGGER"):
            cursor.execute(
                "SELECT t FROM unnest(%s::text[]) t WHERE has_table_privilege(%s::name, "
                "quote_ident(current_schema()) || '.' || quote_ident(t), %s::text)",
                [guarded, name, word],
            )
            tables = [row[0] for row in cursor.fetchall() if row[0] not in owned]
            if tables:
                results.append(f"The role {name} has {word} on {', '.join(tables)}.")
    return results


def _text(cursor: Any, statement: sql.Composed) -> str:
    return statement.as_string(cursor.connection)


def _create(cursor: Any, role: str, password: str) -> None:
    cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s::name", [role])
    if cursor.fetchone():
        return
    line = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE").format(
        sql.Identifier(role)
    )
    if password:
        # Only its verifier travels, so no log of the server shows the password.
        verifier = cursor.connection.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        )
        line = line + sql.SQL(" PASSWORD {}").format(sql.Literal(verifier.decode()))
    try:
        with transaction.atomic():
            cursor.execute(_text(cursor, line))
    except ProgrammingError as error:
        raise RoleMissing(role) from error
