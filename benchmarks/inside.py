"""A worker inside this very process: engine, ledger and leases are the product's, Celery is not.

For what is counted (bytes, queries, write transactions), not for what is timed.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import leases, store
from checkpoints.states import Status
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.step.ledger import DatabaseLedger
from workers.step.step import Agent

from .ground import workspace

OWNER = "worker:bench:1:00000000"
XMAX = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
# All that a thread leaves behind, with indexes and TOAST.
STORED = """
SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
WHERE relkind = 'r' AND relname LIKE 'gp\\_%%'
"""


def counted(sql: str) -> int:
    """The one number that a statement answers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, ())
        return int(cursor.fetchone()[0])


def analyse() -> None:
    """Let the planner know the tables as they are, which a server that lives does by itself.

    Otherwise statements prepared while the tables were empty keep the plans of then.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def play(module: ModuleType, steps: int, *, input: dict[str, Any]) -> UUID:
    """Start a thread of the agent in `module` and work on it for so many steps."""
    agent = _agent(module, str(connection.settings_dict["NAME"]))
    thread = store.start(
        agent.version_id, input=input, workspace=workspace(), actor="bench:1", title="bench"
    )
    go_on(module, thread, steps)
    return thread


def go_on(module: ModuleType, thread: UUID, steps: int) -> None:
    """Work on a thread of the agent in `module` for so many steps more."""
    agent = _agent(module, str(connection.settings_dict["NAME"]))
    work = leases.acquire(thread, owner=OWNER)
    if work is None:
        raise RuntimeError("somebody else works on the thread")
    end = work.number + steps
    Engine(
        agent=agent,
        ledger=DatabaseLedger(),
        heartbeat=SimpleNamespace(check=lambda: None),
        stopping=lambda: work.number >= end,
        slice_seconds=3_600,
    ).advance(work)
    if work.status not in (Status.SUCCEEDED, Status.QUEUED) or work.number != end:
        raise RuntimeError(f"the thread is {work.status} after {work.number} steps")


@cache
def _agent(module: ModuleType, database: str) -> Agent:
    return announce(module.graph, getattr(module, "TOOLS", {}), [module])
