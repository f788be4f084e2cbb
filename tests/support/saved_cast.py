"""The rows that `make_cast` writes, saved at its first call and inserted for every later test.

Giving 10 roles takes 90 statements, 2,000 times in a run: more than the tests themselves. The rows
are the product's own, with their hashes; only triggers and foreign keys are not checked again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from django.contrib.auth import get_user_model
from django.db import connection

from tests.support.cast import Cast, make_cast

# In another database than that of the first call the sequence may stand below the saved ids.
_FREE = """
SELECT NOT EXISTS (SELECT 1 FROM auth_user WHERE id = ANY(%s)) AND
  (SELECT last_value FROM auth_user_id_seq) >= (SELECT max(id) FROM unnest(%s) AS id)
"""
_saved: tuple[Cast, dict[str, int], str] | None = None


def load_cast() -> Cast:
    """The cast in the transaction of the test: made the first time, inserted from then on."""
    global _saved
    if not connection.in_atomic_block:  # a database of the test's own, whose numbers begin at 1
        return make_cast()
    if _saved is None:
        before = _rows()
        cast = make_cast()
        # Numbers and not the people: tests add to theirs, and a deleted one has no number any more.
        ids = {name: user.pk for name, user in cast.users.items()}
        _saved = cast, ids, _script(before, _rows())
        return cast
    cast, ids, script = _saved
    with connection.cursor() as cursor:
        cursor.execute(_FREE, [[*ids.values()]] * 2)
        if cursor.fetchone() != (True,):  # people of the test itself have these numbers
            return make_cast()
        cursor.execute(script)
    people = get_user_model()._default_manager.in_bulk(ids.values())
    return replace(cast, users={name: people[pk] for name, pk in ids.items()})


@cache
def _tables() -> dict[str, str]:
    """The columns of each table that can be written."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.table_name, string_agg(quote_ident(c.column_name), ', ') "
            "FROM information_schema.columns c JOIN information_schema.tables t "
            "USING (table_schema, table_name) WHERE table_schema = 'public' "
            "AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER' GROUP BY 1 ORDER BY 1"
        )
        return dict(cursor.fetchall())


def _rows() -> dict[str, set[str]]:
    """All rows of all tables, each as JSON."""
    results = {}
    with connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f'SELECT to_json(t)::text FROM "{table}" t')
            results[table] = {row for (row,) in cursor.fetchall()}
    return results


def _script(before: dict[str, set[str]], after: dict[str, set[str]]) -> str:
    """The statements that insert what came; what was there has to be as before."""
    # Restored afterwards: a test that tampers has switched the triggers off itself.
    role = "session_replication_role"
    parts = [
        f"SELECT set_config('test.role', current_setting('{role}'), true)",
        f"SET LOCAL {role} = replica",
    ]
    for table, columns in _tables().items():
        assert before[table] <= after[table], f"the cast changes rows of {table}"
        if came := sorted(after[table] - before[table]):
            values = f"[{','.join(came)}]".replace("'", "''")
            parts.append(
                f'INSERT INTO "{table}" ({columns}) OVERRIDING SYSTEM VALUE '
                f"SELECT {columns} FROM json_populate_recordset(NULL::\"{table}\", '{values}')"
            )
    return ";".join([*parts, f"SELECT set_config('{role}', current_setting('test.role'), true)"])


def written() -> dict[str, set[str]]:
    """All that stands in the database, for a comparison."""
    return {table: result for table, result in _rows().items() if result}
