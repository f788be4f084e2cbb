"""A workspace of many threads with ten events and a priced call each, their requests and verdicts.

Two threads are made by the product. The others are rows like theirs, written in the order of their
time in transactions of 10,000 threads; indexes that are no constraints are built afterwards. What
no page reads is not made: checkpoints, and hashes that verify.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg

from checkpoints import store
from checkpoints.postgres.sql_files import sql_file

from ... import inbox, inside
from ...agents import record
from ...ground import workspace

type Raw = psycopg.Connection[Any]

SQL = sql_file(__file__, columns="{columns}", values="{values}")
EVENTS = 10  # of each thread
AT_ONCE = 10_000
TABLES = ("gp_thread", "gp_event", "gp_activity", "gp_approval", "gp_decision")
QUEUE = "'bench-nobody-listens'"

# What differs from one row to the next; all else is the real one's.
THREAD: Mapping[str, str] = {
    "id": "t.id",
    "chain_id": "t.id",
    "title": "CASE WHEN t.n % 4 = 0 THEN 'Refund order ' ELSE 'Write to customer ' END || t.n",
    "labels": "CASE WHEN t.n % 10 = 0 THEN jsonb_build_object('team', 't' || t.n % 50) "
    "ELSE '{}'::jsonb END",
    "searchable": "jsonb_build_object('order', t.n, 'customer', 'c' || t.n % 1000, 'region', "
    "(ARRAY['north', 'east', 'south', 'west'])[1 + t.n % 4])",
    "queue": QUEUE,
    "status": "t.status",
    "status_since": "t.at + interval '10 seconds'",
    "waiting_on": "CASE WHEN t.kind = 'asking' THEN jsonb_build_object('kind', 'approval') "
    "WHEN t.status = 'waiting' THEN jsonb_build_object('kind', 'message') END",
    "status_reason": "CASE WHEN t.status IN ('failed', 'attention') "
    "THEN 'ValueError: order ' || t.n || ' has no customer' ELSE '' END",
    "wake_at": "CASE WHEN t.status = 'sleeping' THEN now() + interval '30 days' END",
    "last_seq": f"{EVENTS}",
    "last_at": "t.at + interval '10 seconds'",
    "created_at": "t.at",
    "lease_owner": "CASE WHEN t.status = 'running' THEN 'worker:bench:1:00000000' ELSE '' END",
    "lease_token": "CASE WHEN t.status = 'running' THEN t.approval END",
    "lease_until": "CASE WHEN t.status = 'running' THEN now() + interval '1 day' END",
}
APPROVAL: Mapping[str, str] = {
    "id": "t.approval",
    "thread_id": "t.id",
    "title": "'Refund order ' || t.n",
    "risk": "(ARRAY['high', 'medium', 'low', 'low'])[1 + t.n % 4]",
    "requested_at": "t.at + interval '9 seconds'",
    "deadline": "CASE WHEN t.n % 3 = 0 THEN now() + make_interval(secs => 600 + t.n) END",
}
ACTIVITY: Mapping[str, str] = {
    "id": "md5('c' || t.n)::uuid",
    "thread_id": "t.id",
    "started_at": "t.at + interval '5 seconds'",
    "finished_at": "t.at + interval '6 seconds'",
    "usage": "jsonb_build_object('model', 'model-' || t.n % 3, 'tokens', 100 + t.n % 900, 'cost', "
    "(0.0001 * (t.n % 100))::text)",
}
DECISION: Mapping[str, str] = {
    "id": "md5('d' || t.n)::uuid",
    "approval_id": "t.approval",
    "at": "t.at + make_interval(secs => 20 + t.n % 600)",
}


def fill(raw: Raw, threads: int, *, first: int = 0, waiting: bool = False) -> None:
    """Write so many threads; afterwards the tables are as autovacuum leaves them.

    `first`: the number of the first of them, after those of an earlier call. `waiting`: all of them
    wait, one in ten with an open request.
    """
    worked = inside.play(record, 4, input={"size": 100})
    waits, decided = (inbox.waiting(inbox.version(), n) for n in range(2))
    _approve(decided)
    raw.execute(SQL.table)
    raw.execute(SQL.plan, {"threads": threads, "first": first, "waiting": waiting})
    raw.execute("ANALYZE bench_thread")
    raw.execute(SQL.templates, {"worked": worked, "decided": decided.thread})
    written = [
        (_like(raw, "gp_thread", SQL.threads, THREAD), {"like": worked}),
        (SQL.events, {"workspace": workspace()}),
        (_like(raw, "gp_approval", SQL.approvals, APPROVAL), {"like": waits.id, "kind": "asking"}),
        (
            _like(raw, "gp_approval", SQL.approvals, APPROVAL),
            {"like": decided.id, "kind": "decided"},
        ),
        (_like(raw, "gp_decision", SQL.decisions, DECISION), {"like": decided.id}),
        (_like(raw, "gp_activity", SQL.activities, ACTIVITY), {"like": worked}),
    ]
    with _quick(raw), _without_indexes(raw):
        for begin in range(first, first + threads, AT_ONCE):
            part = {"first": begin, "last": begin + AT_ONCE}
            with raw.transaction():
                for statement, values in written:
                    raw.execute(statement, values | part)
            done = begin - first
            if done % max(AT_ONCE, threads // 10) == 0:
                print(f"{done:,} of {threads:,} threads are written", file=sys.stderr, flush=True)
    store.cancel(worked, actor="bench:1", reason="the others are made")
    raw.execute("VACUUM ANALYZE")


def _approve(request: Any) -> None:
    from dashboard.approvals.decide import DECIDE, Decide
    from dashboard.identity.permissions import actor_of

    actor = actor_of(inbox.reviewer())
    wanted = Decide(verdict="approve", proposal_hash=request.proposal_hash)
    DECIDE.run(actor, wanted, request.id)


def _like(raw: Raw, table: str, statement: str, differs: Mapping[str, str]) -> str:
    columns, values = inbox.copied(raw, table, differs)
    return statement.replace("{columns}", columns).replace("{values}", values.replace("%", "%%"))


@contextmanager
def _without_indexes(raw: Raw) -> Iterator[None]:
    """Leave out the indexes that are no constraints, and build them again at the end."""
    made = raw.execute(SQL.indexes, {"tables": list(TABLES)}).fetchall()
    for name, _ in made:
        raw.execute(f'DROP INDEX "{name}"')
    yield
    raw.execute("SET maintenance_work_mem = '512MB'")
    for _, definition in made:
        raw.execute(definition)
    raw.execute("RESET maintenance_work_mem")


@contextmanager
def _quick(raw: Raw) -> Iterator[None]:
    """Nobody needs these rows after a crash: no flush per transaction, few forced checkpoints."""
    raw.execute("SET synchronous_commit = off")
    raw.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
    raw.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        raw.execute("RESET synchronous_commit")
        raw.execute("ALTER SYSTEM RESET max_wal_size")
        raw.execute("SELECT pg_reload_conf()")
