"""Alter any column of a thread's rows past all guards, and which columns no proof covers."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from approvals.states import STATUSES, VERDICTS, WHAT_NEXT
from checkpoints.states import (
    ACTIVITY_KINDS,
    ACTIVITY_STATES,
    CHECKPOINT_SOURCES,
    EventKind,
    Status,
)
from tests.unit.checkpoints.builders import (
    rows,
)

# Columns that no proof can or needs to cover, each with the reason.
FREE = {
    ("gp_event", "xid8"): "a place in this very database; a dump that is put back has others",
    ("gp_activity", "progress"): "how far a call is, for the page; no history",
}
# Of the thread's own row, what its log tells: the rest is where it stands now, not its past.
OF_THREAD = {
    "workspace_id",
    "chain_id",
    "last_seq",
    "last_hash",
    "head",
    "number",
    "step",
    "branch",
    "branch_start",
    "next_nodes",
    "state_bytes",
    "imported_seq",
    "imported_number",
    "pinned",
    "started_by",
    "base",
    "forked_from",
    "agent",
    "agent_version_id",
    "title",
    "status",
    "n_steps",
    "name",
    "queue",
    "labels",
    "pause_at",
    "effects",
    "parent",
    "root",
    "depth",
    "waiting_on",
    "rollback",
    "tokens",
    "cost",
}
# What the log does not tell, or not of every thread.
NOT_OF_THREAD = {
    "automatic_title": "the title: tests/unit/dashboard/fields/test_titles.py alters it",
    "searchable": "the state: tests/unit/checkpoints/store/test_searchable.py alters it",
    "id": "what the rows of a thread name; another one leaves them behind",
    "status_since": "for the order of lists",
    "status_reason": "for people; the event says it too",
    "wake_at": "when it goes on; no history",
    "wake_seq": "a counter between workers",
    "moved_up_at": "its place in the queue; no history",
    "wish": "what was asked of the worker; no history",
    "wish_by": "who asked it",
    "version": "a counter for who decides on what they saw",
    "prev_hash": "a copy for the trigger, of the last statement only",
    "last_at": "a copy of the last event's time",
    "lease_owner": "who works on it now",
    "lease_token": "who works on it now",
    "lease_until": "who works on it now",
    "fence": "a counter for people",
    "crash_count": "how often it was taken over; no history",
    "tokens_saved": "a sum; no event tells it",
    "created_at": "for the order of lists",
    "erasure": "compared with the workspace's log",
}
TABLES = {
    "gp_event": "thread_id",
    "gp_checkpoint": "thread_id",
    "gp_content": "thread_id",
    "gp_activity": "thread_id",
    "gp_approval": "thread_id",
    "gp_decision": "approval_id",
}
# What a column may hold, where the database knows a list.
LISTS = {
    ("gp_thread", "status"): Status,
    ("gp_thread", "effects"): ("run", "ask"),
    ("gp_event", "kind"): EventKind,
    ("gp_checkpoint", "source"): CHECKPOINT_SOURCES,
    ("gp_activity", "state"): ACTIVITY_STATES,
    ("gp_activity", "kind"): ACTIVITY_KINDS,
    ("gp_approval", "status"): STATUSES,
    ("gp_approval", "what_next"): WHAT_NEXT,
    ("gp_decision", "verdict"): VERDICTS,
    ("gp_decision", "what_next"): WHAT_NEXT,
}
OTHER: dict[str, str] = {
    "uuid": "gen_random_uuid()",
    "character varying": "left(md5({c}), greatest(length({c}), 1))",
    "text": "{c} || 'x'",
    "integer": "{c} + 1000000",
    "bigint": "{c} + 1000000",
    "smallint": "{c} + 1000",
    "boolean": "NOT {c}",
    "bytea": "sha256({c})",
    "ARRAY": "{c} || 'user:99'::text",
    "jsonb": "jsonb_build_object('was', {c})",
    "timestamp with time zone": "{c} + interval '1 microsecond'",
    "time without time zone": "{c} + interval '1 minute'",
    "numeric": "{c} + 1",
    "double precision": "{c} + 1",
    "date": "{c} + 40",
}
SOME: dict[str, str] = {
    "uuid": "gen_random_uuid()",
    "bytea": "sha256('x')",
    "jsonb": "'{\"x\": 1}'::jsonb",
    "timestamp with time zone": "clock_timestamp()",
    "numeric": "1",
    "bigint": "1",
}


@pytest.fixture
def unguarded() -> Iterator[None]:
    """Somebody with all rights, past every trigger."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        yield
        cursor.execute("SET session_replication_role = DEFAULT")


def own_rows(table: str) -> str:
    if table == "gp_decision":
        return "approval_id IN (SELECT id FROM gp_approval WHERE thread_id = %s::uuid)"
    return "thread_id = %s::uuid"


def changes_of(table: str, column: str, kind: str, *, empty: bool) -> list[str]:
    if (table, column) in LISTS:
        words = list(LISTS[table, column])
        # Two neighbours, so that one of them differs from what is there.
        return [f"'{word}'" for word in (words if len(words) < 10 else words[10:12])]
    if empty:
        return [SOME.get(kind, "1" if "int" in kind else "'x'")]
    changed = [OTHER[kind].format(c=column)]
    # A neighbour may fit where a stranger does not.
    return [*changed, f"{column} + 1", f"{column} - 1"] if "int" in kind else changed


def altered_rows(table: str, column: str, kind: str, thread: UUID) -> Iterator[str]:
    """Alter the column in each row of the thread in turn, and take it back; what it was."""
    places = rows(
        f"SELECT ctid::text, {column} IS NULL FROM {table} WHERE {own_rows(table)}", [thread]
    )
    # A long log is all of one kind: some of its rows, others for each column.
    every = max(1, len(places) // 12)
    for ctid, empty in places[len(column) % every :: every]:
        for change in changes_of(table, column, kind, empty=empty):
            with transaction.atomic():
                try:
                    altered = rows(
                        f"UPDATE {table} SET {column} = {change} WHERE ctid = %s::tid "
                        f"AND {column} IS DISTINCT FROM {change} RETURNING 1",
                        [ctid],
                    )
                except IntegrityError:
                    altered = []  # a neighbour stands there: no right goes past a unique index
                    transaction.set_rollback(True)
                if altered:
                    yield f"{table}.{column} = {change}"
                transaction.set_rollback(True)


def columns_of(table: str) -> list[tuple[str, str]]:
    """(name, type) of each column as the database has it."""
    return [
        (name, kind)
        for name, kind in rows(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = %s AND table_schema = 'public' ORDER BY ordinal_position",
            [table],
        )
    ]
