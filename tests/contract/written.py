"""Which tables were written, and how to take back what a test wrote.

PostgreSQL counts the rows that a transaction writes to each table. A table whose counters stand
still holds what it held, so that only the others are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import connection, transaction

type Counters = tuple[Any, ...]

# {table: (its counters, the rows then)}.
_READ: dict[str, tuple[Counters, str]] = {}

# When a sign-in was last in use is noted once a minute, whatever is looked at.
_WITHOUT = {"gp_sign_in": "(to_jsonb(t) - 'last_seen_at')::text"}

# Those of the tables that moved in this transaction, and under no name those of all others.
_COUNTERS = """
SELECT '', 0, 0, 0, pg_current_xact_id()::text UNION ALL
SELECT relname, inserted, updated, deleted, pg_current_xact_id()::text
FROM (
  SELECT relname, pg_stat_get_xact_tuples_inserted(oid) AS inserted,
    pg_stat_get_xact_tuples_updated(oid) AS updated, pg_stat_get_xact_tuples_deleted(oid) AS deleted
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
) AS counted
WHERE inserted + updated + deleted > 0
"""


def everything() -> dict[str, str]:
    """For each table the number of its rows and a hash of them all."""
    counters = _counters()
    if not connection.in_atomic_block:  # others write too, and only they know how often
        return _rows(counters)
    moved = [name for name in counters if _READ.get(name, (None,))[0] != counters[name]]
    for name, rows in _rows(moved).items():
        _READ[name] = (counters[name], rows)
    return {name: _READ[name][1] for name in counters}


def changes(act: Callable[[], Any]) -> tuple[Any, set[str]]:
    """(what it answered, the tables that it wrote)."""
    before = everything()
    answer = act()
    after = everything()
    return answer, {name for name in after if after[name] != before.get(name)}


@contextmanager
def taken_back() -> Iterator[None]:
    """Whatever is changed meanwhile is as before afterwards.

    Counters do not go back with the rows: what was read before is filed under those of now.
    """
    counters = _counters() if connection.in_atomic_block else {}
    before = {name: rows for name, (at, rows) in _READ.items() if at == counters.get(name)}
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        counters = _counters() if before else {}
        _READ.clear()
        _READ.update({name: (counters[name], rows) for name, rows in before.items()})


def _counters() -> dict[str, Counters]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNTERS)
        moved = {name: tuple(more) for name, *more in cursor.fetchall()}
    return dict.fromkeys(tables(), moved.pop("")) | moved


@cache
def tables() -> tuple[str, ...]:
    """The tables of the product, in order."""
    return tuple(sorted(connection.introspection.table_names()))


def _rows(tables: Iterable[str]) -> dict[str, str]:
    sums = " UNION ALL ".join(
        f"SELECT '{name}', count(*) || ' ' || md5(coalesce(string_agg({row}, ',' "
        f"ORDER BY {row}), '')) FROM \"{name}\" t"
        for name in tables
        for row in [_WITHOUT.get(name, "t::text")]
    )
    if not sums:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(sums)
        return dict(cursor.fetchall())
