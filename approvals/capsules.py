"""Which columns of requests and decisions travel in a capsule, and reading them whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.capsules.columns import Columns, selected, told

from .rules.proposals import REQUEST

AT_ONCE = 200
_PLACED = ("thread_id", "workspace_id")
APPROVAL: Columns = {
    **{name: kind for name, kind in REQUEST.items() if name not in _PLACED},
    "standing_args": "jsonb",
    "standing_hash": "varchar",
    "decide_by": "timestamptz",
    "escalated_at": "timestamptz",
    "status": "varchar",
    "what_next": "varchar",
    "outcome": "varchar",
    "comment": "text",
    "decided_by": "varchar",
    "decided_by_name": "varchar",
    "decided_at": "timestamptz",
    "decided_args": "jsonb",
    "effective_at": "timestamptz",
    "requested_at": "timestamptz",
}
DECISION: Columns = {
    "id": "uuid",
    "approval_id": "uuid",
    "reviewer": "varchar",
    "reviewer_name": "varchar",
    "verdict": "varchar",
    "proposal_hash": "varchar",
    "comment": "text",
    "args": "jsonb",
    "what_next": "varchar",
    "salt": "bytea",
    "hash": "bytea",
    "at": "timestamptz",
}


def approval_rows(thread: UUID) -> Iterator[dict[str, Any]]:
    """All requests of a thread by their id."""
    return _by_id("gp_approval", APPROVAL, "thread_id = %s::uuid", thread)


def decision_rows(thread: UUID) -> Iterator[dict[str, Any]]:
    """All decisions on a thread's requests by their id."""
    of = "approval_id IN (SELECT a.id FROM gp_approval a WHERE a.thread_id = %s::uuid)"
    return _by_id("gp_decision", DECISION, of, thread)


def _by_id(table: str, columns: Columns, which: str, thread: UUID) -> Iterator[dict[str, Any]]:
    last: Any = UUID(int=0)
    sql = (
        f"SELECT {selected(columns)} FROM {table} WHERE {which} AND {table}.id > %s::uuid "
        f"ORDER BY {table}.id LIMIT {AT_ONCE}"
    )
    while True:
        with connection.cursor() as cursor:
            cursor.execute(sql, (thread, last))
            found = cursor.fetchall()
        for values in found:
            row = told(columns, values)
            yield row
            last = row["id"]
        if len(found) < AT_ONCE:
            return
